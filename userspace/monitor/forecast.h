/*
 * forecast.h
 *		How much work redo has with the WAL that it has not come to.
 */
#ifndef REDOAHEAD_MONITOR_FORECAST_H
#define REDOAHEAD_MONITOR_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "cluster/controlfile.h"
#include "wal/reader.h"
#include "wal/segments.h"

/* Intervals of WAL that work is counted for. */
#define FORECAST_INTERVALS	1024

/* Work of redo. */
struct forecast_work
{
	double		records;		/* records; an image counts as IMAGE_RECORDS */
	double		blocks;			/* blocks that redo uses for the first time */
};

struct forecast
{
	bool		decoding;		/* there is more to decode */
	struct wal_segments segments;	/* what is decoded */
	struct wal_reader reader;	/* likewise */
	uint64_t	begin_lsn;		/* where redo began, 0: nothing is known */
	uint64_t	end_lsn;		/* where WAL ends */
	uint64_t	interval_bytes; /* of WAL in an interval */
	unsigned	intervals;		/* those that are decoded */
	struct forecast_work sums[FORECAST_INTERVALS + 1];	/* by interval: the work before it */
	struct forecast_work sum;	/* the work of all that is decoded */
	uint64_t	sample;			/* one in so many blocks is counted, by hash; a power of two */
	uint64_t   *seen;			/* a bit for each of them that was referenced, by hash */
	uint64_t	seen_mask;		/* number of bits - 1 */
	uint64_t	seen_count;		/* bits that are set */
};

void		forecast__begin(struct forecast *forecast, const struct cluster *cluster,
							const struct controlfile *control, uint32_t timeline,
							uint64_t begin_lsn, uint64_t end_lsn);
void		forecast__end(struct forecast *forecast);
void		forecast__decode(struct forecast *forecast, uint64_t replay_lsn, uint64_t until_us);
struct forecast_work forecast__before(const struct forecast *forecast, uint64_t lsn);

#endif							/* REDOAHEAD_MONITOR_FORECAST_H */
