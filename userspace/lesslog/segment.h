/*
 * segment.h
 *		Which full-page images of a WAL segment redo can do without.
 */
#ifndef REDOAHEAD_LESSLOG_SEGMENT_H
#define REDOAHEAD_LESSLOG_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lesslog/edits.h"
#include "wal/page.h"
#include "wal/reader.h"

/* Why a record keeps its images. */
enum segment_kept
{
	SEGMENT_NOT_OPTIONAL,		/* the server did not mark it: redo needs them */
	SEGMENT_CONSISTENCY_CHECK,	/* they are for wal_consistency_checking */
	SEGMENT_CUSTOM_RMGR,		/* an extension's resource manager replays it */
	SEGMENT_IMAGE_ONLY,			/* it has nothing but images, whatever its mark */
	SEGMENT_SPANS_SEGMENTS,		/* part of it is in another segment */
	SEGMENT_KEPT_COUNT
};

/* What a segment has, and what is removed. */
struct segment_counts
{
	uint64_t	records;		/* records that lie in it as a whole */
	uint64_t	images;			/* images in them that redo would restore */
	uint64_t	images_removed; /* of these, those that are removed */
	uint64_t	image_bytes_removed;	/* size of those, bytes */
	uint64_t	hints_removed;	/* records of hints that then have no image */
	uint64_t	kept[SEGMENT_KEPT_COUNT];	/* records that keep images, by reason; of those that
											 * span segments, it is not known if they have any */
};

struct segment
{
	uint64_t	lsn;			/* where it begins */
	uint32_t	segment_bytes;	/* its size, bytes */
	uint32_t	page_bytes;		/* size of a page, bytes */
	uint32_t	timeline;		/* that of its name */
	uint32_t	rest_crc;		/* CRC-32C of all of the records that stays as it is */
	struct segment_counts counts;
};

bool		segment__is_name(const char *name);
const char *segment__kept_name(enum segment_kept reason);
int			segment__identify(struct segment *segment, const char *name,
							  const struct wal_long_page_header *header, uint64_t bytes,
							  char message[WAL_MESSAGE_BYTES]);
int			segment__scan(struct segment *segment, struct wal_source source,
						  struct edits *edits, char message[WAL_MESSAGE_BYTES]);

#endif							/* REDOAHEAD_LESSLOG_SEGMENT_H */
