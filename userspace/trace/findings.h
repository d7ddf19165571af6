/*
 * findings.h
 *		What a trace found, to be reported as text or as JSON.
 */
#ifndef REDOAHEAD_TRACE_FINDINGS_H
#define REDOAHEAD_TRACE_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/relpath.h"
#include "trace/tally.h"

/* Most daemons that are reported. */
#define FINDINGS_DAEMONS	8

/* Room for the name of a relation, with its schema and quoted, and for that of a database. */
#define FINDINGS_NAME_BYTES	264
#define FINDINGS_DATABASE_BYTES	64

/* How it ended. */
enum findings_outcome
{
	FINDINGS_RUNNING,			/* recovery goes on: an interval */
	FINDINGS_COMPLETED,			/* recovery is complete */
	FINDINGS_INTERRUPTED,		/* the startup process ended before that */
	FINDINGS_STOPPED			/* the trace was stopped */
};

/* What the counts lack. */
struct findings_lost
{
	uint64_t	events;			/* the ring buffer was full */
	uint64_t	references;		/* overwritten before they were read */
	uint64_t	files;			/* events of files beyond the table of files */
	uint64_t	blocks;			/* blocks beyond the table of blocks */
};

/* A relation's fork, or an SLRU. */
struct findings_row
{
	struct relpath_key key;		/* which one; the segment is 0 */
	char		path[RELPATH_BYTES];	/* of its first segment; of an SLRU its directory */
	bool		dropped;		/* its file does not exist any more */
	char		name[FINDINGS_NAME_BYTES];	/* of the relation, "" if not known */
	char		database[FINDINGS_DATABASE_BYTES];	/* that it is in, "" for a shared one */
	struct tally_row counts;	/* what became of its blocks */
};

struct findings
{
	bool		interval;		/* of an interval, not of the whole trace */
	enum findings_outcome outcome;	/* how it ended */
	const char *pgdata;			/* data directory */
	int			major;			/* of the server */
	uint32_t	block_size;		/* of the server, bytes */
	pid_t		startup;		/* startup process */
	pid_t		daemons[FINDINGS_DAEMONS];	/* daemons seen */
	unsigned	daemon_count;	/* how many */
	bool		from_start;		/* traced from the first read on */
	uint64_t	elapsed_ns;		/* how long, ns */
	uint64_t	cpu_ns;			/* CPU time of the tracing process since it began, ns */
	uint64_t	pending[TALLY_PREFETCHERS]; /* prefetched and not used yet, blocks */
	struct findings_lost lost;	/* what the counts lack */
	const char *attach_method;	/* of the BPF programs */
	bool		records_followed;	/* the record being redone is known */
	bool		references_followed;	/* the references to the daemon are known */
	const struct tally *tally;	/* the counts */
	const struct findings_row *rows;	/* those by relation, most read first */
	uint32_t	row_count;		/* how many */
};

#endif							/* REDOAHEAD_TRACE_FINDINGS_H */
