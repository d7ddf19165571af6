/*
 * findings.h
 *		What a trace found out, to be shown as text or as JSON.
 */
#ifndef REDOAHEAD_REPORT_FINDINGS_H
#define REDOAHEAD_REPORT_FINDINGS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cluster/relpath.h"
#include "trace/tally.h"

/* Most points that are observed, and daemons. */
#define FINDINGS_POINTS		8
#define FINDINGS_DAEMONS	8

/* Room for the name of a relation, with its schema and quoted, and for that of a database. */
#define FINDINGS_NAME_BYTES	264
#define FINDINGS_DATABASE_BYTES	64

/* How it ended. */
enum findings_outcome
{
	FINDINGS_RUNNING,			/* not yet: an interval */
	FINDINGS_COMPLETED,			/* recovery is done */
	FINDINGS_INTERRUPTED,		/* the startup process is gone, recovery is not done */
	FINDINGS_STOPPED			/* we were told to stop */
};

/* Why something is not in the numbers. */
struct findings_lost
{
	uint64_t	events;			/* the ring buffer was full */
	uint64_t	references;		/* overwritten before they were read */
	uint64_t	files;			/* more than can be told apart */
	uint64_t	blocks;			/* more than can be kept in mind */
};

/* A relation's fork, or an SLRU. */
struct findings_row
{
	struct relpath_key key;		/* what it is; the segment means nothing */
	char		path[RELPATH_BYTES];	/* of its first segment; of an SLRU its directory */
	bool		dropped;		/* it is gone */
	char		name[FINDINGS_NAME_BYTES];	/* of the relation, "" if not known */
	char		database[FINDINGS_DATABASE_BYTES];	/* that it is in, "" for a shared one */
	struct tally_row counts;	/* what became of its blocks */
};

struct findings
{
	bool		interval;		/* of an interval, not of the whole */
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
	struct findings_lost lost;	/* what was not seen */
	const char *points[FINDINGS_POINTS];	/* what was observed */
	const char *ways[FINDINGS_POINTS];	/* and how */
	unsigned	point_count;	/* how many */
	const struct tally *tally;	/* the numbers */
	const struct findings_row *rows;	/* those of relations, most read first */
	uint32_t	row_count;		/* how many */
};

const char *findings__outcome_name(enum findings_outcome outcome);
const char *findings__rmgr_name(unsigned rmid, char buffer[16]);
double		findings__share(uint64_t part, uint64_t whole);
int			findings__text(const struct findings *findings, FILE *file);
int			findings__json(const struct findings *findings, FILE *file);

#endif							/* REDOAHEAD_REPORT_FINDINGS_H */
