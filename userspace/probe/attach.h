/*
 * attach.h
 *		Loads the probes and attaches them, each the best way that works.
 */
#ifndef REDOAHEAD_PROBE_ATTACH_H
#define REDOAHEAD_PROBE_ATTACH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What can be observed. */
enum attach_point
{
	ATTACH_INSERTIONS,			/* blocks that get into the page cache */
	ATTACH_EVICTIONS,			/* blocks that leave it */
	ATTACH_CALLS,				/* read calls of the startup process */
	ATTACH_MISSES,				/* that a read did not find a block */
	ATTACH_DEVICE,				/* requests of the devices */
	ATTACH_RECORD,				/* the record being redone */
	ATTACH_REFERENCES,			/* what the server asks the daemon for */
	ATTACH_POINT_COUNT
};

/* Which way to take for each point; NULL: the best one that works. */
struct attach_choice
{
	const char *ways[ATTACH_POINT_COUNT];	/* by point */
};

/* Room for a reason why something does not work, bytes. */
#define ATTACH_REASON	512

/* The settings of the probes. */
struct attach_settings
{
	int			dirfd;			/* the data directory; stays the caller's */
	uint32_t	block_size;		/* PostgreSQL's, bytes */
	uint32_t	buffer_bytes;	/* ring buffer, bytes: a power of two */
	uint32_t	ahead_slots;	/* no events but counts, of so many blocks ahead of redo: a
								 * power of two; 0: events */
	const dev_t *disks;			/* whole disks to follow */
	unsigned	disk_count;		/* how many */
};

struct trace_bpf;
struct attach;

const char *attach__point_name(enum attach_point point);
int			attach__parse(struct attach_choice *choice, char *text, const char **wrong);
const char *attach__help(void);
int			attach__open(struct attach **attach, const struct attach_choice *forced,
						 const struct attach_settings *settings, char reason[ATTACH_REASON]);
int			attach__attach(struct attach *attach, char reason[ATTACH_REASON]);
int			attach__again(struct attach *attach);
void		attach__detach(struct attach *attach);
void		attach__close(struct attach *attach);
struct trace_bpf *attach__programs(struct attach *attach);
const char *attach__way(const struct attach *attach, enum attach_point point);

#endif							/* REDOAHEAD_PROBE_ATTACH_H */
