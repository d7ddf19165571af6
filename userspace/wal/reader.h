/*
 * reader.h
 *		Reads records from WAL, one after the other.
 */
#ifndef REDOAHEAD_WAL_READER_H
#define REDOAHEAD_WAL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wal/record.h"

/*
 * Where WAL comes from.  "read" fills up to "bytes" bytes with WAL from the position
 * "lsn" on, and returns how many, 0 if there is none (yet), or -errno.
 */
struct wal_source
{
	long		(*read) (void *context, uint64_t lsn, void *out, size_t bytes);
	void	   *context;		/* its first argument */
};

/* What the reader must know of the cluster; WAL shows of which major it is. */
struct wal_reader_options
{
	struct wal_source source;	/* where WAL comes from */
	uint64_t	system_identifier;	/* of the cluster, 0: that of the first page that has one */
	uint32_t	segment_bytes;	/* size of a WAL segment, bytes */
	uint32_t	page_bytes;		/* size of a WAL page, bytes */
	uint32_t	block_size;		/* size of a data block, bytes; 0: not known */
};

struct wal_reader
{
	struct wal_reader_options options;
	const struct wal_format *format;	/* of the WAL, NULL before the first page */
	uint32_t	timeline;		/* of the last page, 0 before the first one */
	uint64_t	timeline_lsn;	/* position of that page */
	uint64_t	segment_lsn;	/* start of the segment whose long header was verified */
	bool		segment_known;	/* there is one */
	uint64_t	next_lsn;		/* where the next record begins */
	uint64_t	previous_lsn;	/* start of the record before, 0 if not known */
	unsigned char *buffer;		/* WAL from buffer_lsn on */
	uint64_t	buffer_lsn;		/* position of its first byte */
	size_t		buffer_bytes;	/* bytes in it */
	unsigned char *assembled;	/* a record that spans pages */
	size_t		assembled_bytes;	/* room for it */
	struct wal_record record;	/* the last one returned */
	char		message[WAL_MESSAGE_BYTES]; /* why there is no further record */
};

/* What wal_reader__next() returns, if it is no error. */
enum wal_reader_result
{
	WAL_READER_END = 0,			/* no further record, but there may be one later */
	WAL_READER_RECORD = 1		/* a record */
};

int			wal_reader__create(struct wal_reader *reader, const struct wal_reader_options *options);
void		wal_reader__destroy(struct wal_reader *reader);
void		wal_reader__begin(struct wal_reader *reader, uint64_t lsn);
int			wal_reader__find(struct wal_reader *reader, uint64_t lsn);
int			wal_reader__next(struct wal_reader *reader);

#endif							/* REDOAHEAD_WAL_READER_H */
