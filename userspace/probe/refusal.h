/*
 * refusal.h
 *		Why the kernel refuses the BPF programs.
 */
#ifndef REDOAHEAD_PROBE_REFUSAL_H
#define REDOAHEAD_PROBE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

/* What may be a reason. */
struct refusal_facts
{
	bool		has_btf;		/* the kernel has type information */
	bool		has_capabilities;	/* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN */
	bool		confidential;	/* lockdown=confidentiality */
	bool		overlaid;		/* the data directory is on overlayfs */
	bool		pids_differ;	/* this process is in a PID namespace of its own */
};

void		refusal__collect(struct refusal_facts *facts, int dirfd);
void		refusal__explain(const struct refusal_facts *facts, int err, char *text, size_t size);
bool		refusal__is_certain(const struct refusal_facts *facts);

#endif							/* REDOAHEAD_PROBE_REFUSAL_H */
