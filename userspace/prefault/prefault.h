/*
 * prefault.h
 *		Reads the blocks into the page cache that redo of a part of WAL will read.
 */
#ifndef REDOAHEAD_PREFAULT_PREFAULT_H
#define REDOAHEAD_PREFAULT_PREFAULT_H

#include <stdbool.h>
#include <stdint.h>

/* What the user chose. */
struct prefault_options
{
	const char *pgdata;			/* data directory */
	const char *wal;			/* directory of WAL, NULL: the cluster's */
	const char *decompress;		/* shell command that decompresses a segment, or NULL */
	const char *relation;		/* TABLESPACE/DATABASE/RELATION, NULL: all */
	const char *backend;		/* "auto", "io_uring" or "fadvise" */
	char	  **words;			/* positions and segments; none: all that the next recovery replays */
	unsigned	word_count;		/* how many */
	uint64_t	timeline;		/* whose WAL, 0: the next recovery's */
	uint64_t	io_depth;		/* most blocks in flight */
	double		limit_rate;		/* most blocks read in a second, MB; 0: no limit */
	bool		dry_run;		/* list the blocks, read none */
	bool		progress;		/* report progress */
	bool		json;			/* print a summary as JSON */
};

int			prefault__run(const struct prefault_options *options, uint64_t *bytes);

#endif							/* REDOAHEAD_PREFAULT_PREFAULT_H */
