/*
 * refusal.h
 *		Why the kernel does not let us look.
 */
#ifndef REDOAHEAD_PROBE_REFUSAL_H
#define REDOAHEAD_PROBE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

/* What is known of the kernel and of our rights. */
struct refusal_facts
{
	bool		has_btf;		/* the kernel tells its types */
	bool		has_capabilities;	/* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN */
	bool		confidential;	/* lockdown=confidentiality */
	bool		overlaid;		/* the data directory is on overlayfs */
};

void		refusal__look(struct refusal_facts *facts, int dirfd);
void		refusal__explain(const struct refusal_facts *facts, int err, char *text, size_t size);
bool		refusal__is_certain(const struct refusal_facts *facts);

#endif							/* REDOAHEAD_PROBE_REFUSAL_H */
