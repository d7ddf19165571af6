/*
 * position.h
 *		How far a startup process has replayed WAL, seen from outside.
 */
#ifndef REDOAHEAD_FOLLOW_POSITION_H
#define REDOAHEAD_FOLLOW_POSITION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/confined.h"
#include "cluster/cluster.h"
#include "follow/query.h"
#include "probe/position_probe.h"

/* Where the position comes from, best first. */
enum position_method
{
	POSITION_MEMORY,			/* the process's memory: each record */
	POSITION_BPF,				/* a BPF program in it: each file that the process reads */
	POSITION_SQL,				/* a query: each record, if the server takes connections */
	POSITION_TITLE,				/* the process's title: each segment */
	POSITION_METHOD_COUNT
};

/* Names of the methods, for an option. */
#define POSITION_METHODS	"memory|bpf|sql|title"

struct position
{
	const struct cluster *cluster;	/* whose recovery it is */
	int			forced;			/* the only method that may be used, -1: any */
	struct confined finder;		/* finds the variable in the program's file */
	pid_t		startup;		/* the startup process, 0: none */
	uint64_t	system_identifier;	/* of the cluster */
	uint32_t	segment_bytes;	/* size of a WAL segment, bytes */
	uint64_t	redo_lsn;		/* where redo begins */
	uint64_t	stack;			/* address of error_context_stack, 0: memory cannot be read */
	uint64_t	reader;			/* address of the startup process's WAL reader, 0: not known yet */
	uint64_t	idle_lsn;		/* end of the last record when none was being replayed, or 0 */
	struct position_probe *probe;	/* the BPF program, or NULL */
	int			probe_err;		/* why there is none, -errno */
	bool		attached;		/* it is */
	struct query query;			/* to the server */
	uint64_t	begin_us;		/* time of the first read, us */
	uint64_t	retry_us;		/* time to begin an exact method again, us; 0: none */
	uint64_t	pause_us;		/* until the retry after that one, us */
	uint64_t	sql_us;			/* time of the last answer to a query, us */
	uint64_t	title_us;		/* time of the last read of the title, us */
	uint64_t	lsn;			/* start of the record being replayed, as last seen; 0: none */
	int			method;			/* that returned it, -1 before */
};

void		position__create(struct position *position, const struct cluster *cluster,
							 const char *method, const char *attach);
int			position__start(struct position *position);
void		position__destroy(struct position *position);
void		position__begin(struct position *position, pid_t startup, uint64_t system_identifier,
							uint32_t segment_bytes, uint64_t redo_lsn);
void		position__end(struct position *position);
uint64_t	position__read(struct position *position, uint64_t now_us);
bool		position__is_exact(const struct position *position);
bool		position__segment(const struct position *position, uint32_t *timeline,
							  uint64_t *segment);

#endif							/* REDOAHEAD_FOLLOW_POSITION_H */
