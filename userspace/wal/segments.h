/*
 * segments.h
 *		WAL in the segment files of a directory, as a source for the reader.
 */
#ifndef REDOAHEAD_WAL_SEGMENTS_H
#define REDOAHEAD_WAL_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wal/timeline.h"

/*
 * Directory, in that of WAL, for segments that the server has not requested yet.  Of a
 * segment that is in both, the file here is the right one: the other is of older WAL and
 * waits for being overwritten.
 */
#define WAL_SPOOL_NAME	"redoahead.spool"

/* Length of a segment's name. */
#define WAL_SEGMENT_NAME_LENGTH	24

/* Most suffixes of compressed segments in a directory, and room for one, bytes. */
#define WAL_MAX_SUFFIXES		8
#define WAL_SUFFIX_BYTES		16

struct wal_segments
{
	int			dirfd;			/* the directory */
	bool		no_spool;		/* only files that the server has, or has had */
	uint32_t	segment_bytes;	/* size of a segment, bytes */
	const char *decompress;		/* shell command from a compressed segment to a plain one, or
								 * NULL */
	char		suffixes[WAL_MAX_SUFFIXES][WAL_SUFFIX_BYTES];	/* of compressed segments */
	unsigned	suffix_count;	/* how many */
	bool		suffixes_known; /* the directory has been listed for them */
	struct timeline_history history;	/* timelines that the files are of */
	int			fd;				/* the open segment, -1 if none */
	uint64_t	segment;		/* its number: position / segment_bytes */
	uint64_t	end;			/* end of its timeline: what follows it there is another branch */
	char		message[TIMELINE_MESSAGE_BYTES]; /* what is wrong, after an error */
};

int			wal_segments__open(struct wal_segments *segments, const char *directory,
							   uint32_t segment_bytes, uint32_t timeline,
							   const char *decompress);
void		wal_segments__close(struct wal_segments *segments);
long		wal_segments__read(void *segments, uint64_t lsn, void *out, size_t bytes);
void		wal_segments__forget(struct wal_segments *segments);
uint32_t	wal_segments__descendant(const struct wal_segments *segments, uint32_t timeline,
									 uint64_t lsn, uint64_t *begin);
uint64_t	wal_segments__end(struct wal_segments *segments, uint64_t lsn);
void		wal_segments__name(uint32_t timeline, uint64_t segment, uint32_t segment_bytes,
							   char name[WAL_SEGMENT_NAME_LENGTH + 1]);
bool		wal_segments__parse(const char *name, uint32_t segment_bytes, uint32_t *timeline,
								uint64_t *segment);

#endif							/* REDOAHEAD_WAL_SEGMENTS_H */
