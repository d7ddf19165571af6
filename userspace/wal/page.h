/*
 * page.h
 *		Headers of WAL pages.
 */
#ifndef REDOAHEAD_WAL_PAGE_H
#define REDOAHEAD_WAL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wal_format.h"

/* Flags in a page header; wal_format has those that differ between majors. */
#define WAL_PAGE_CONTINUES		0x0001	/* begins with the rest of a record */
#define WAL_PAGE_LONG			0x0002	/* has the long header */

/* Sizes of the headers, aligned, bytes. */
#define WAL_PAGE_SHORT_BYTES	24
#define WAL_PAGE_LONG_BYTES		40

/* Least and greatest size of a page, bytes. */
#define WAL_PAGE_MIN_BYTES		1024
#define WAL_PAGE_MAX_BYTES		65536

/* Least and greatest size of a segment, bytes. */
#define WAL_SEGMENT_MIN_BYTES	(1024 * 1024)
#define WAL_SEGMENT_MAX_BYTES	(1024 * 1024 * 1024)

/* A page begins with this. */
struct wal_page_header
{
	uint16_t	magic;			/* identifies the major */
	uint16_t	flags;			/* WAL_PAGE_* and others */
	uint32_t	timeline;		/* of the first record on the page */
	uint64_t	lsn;			/* position of the page */
	uint32_t	rest_bytes;		/* of the record that continues here */
	uint32_t	padding;		/* not defined */
};

_Static_assert(sizeof(struct wal_page_header) == WAL_PAGE_SHORT_BYTES,
			   "wal_page_header has no holes");

/* The first page of a segment. */
struct wal_long_page_header
{
	struct wal_page_header page;	/* as every page */
	uint64_t	system_identifier;	/* from pg_control */
	uint32_t	segment_bytes;	/* size of a WAL segment */
	uint32_t	page_bytes;		/* size of a WAL page */
};

_Static_assert(sizeof(struct wal_long_page_header) == WAL_PAGE_LONG_BYTES,
			   "wal_long_page_header has no holes");

/* What the header of a page must have. */
struct wal_page_expected
{
	uint64_t	lsn;			/* position of the page */
	uint16_t	magic;			/* of the WAL's major */
	uint64_t	system_identifier;	/* of the cluster */
	uint32_t	segment_bytes;	/* size of a WAL segment */
	uint32_t	page_bytes;		/* size of a WAL page */
	uint32_t	timeline;		/* at least this one */
};

const char *wal_page__problem(const struct wal_long_page_header *header,
							  const struct wal_page_expected *expected);

/* Size of the header of the page at a position, bytes. */
static inline uint32_t
wal_page__header_bytes(uint64_t lsn, uint32_t segment_bytes)
{
	return lsn % segment_bytes == 0 ? WAL_PAGE_LONG_BYTES : WAL_PAGE_SHORT_BYTES;
}

#endif							/* REDOAHEAD_WAL_PAGE_H */
