/*
 * wal_format.h
 *		What we have to know of the contents of WAL records, and what differs
 *		between majors of PostgreSQL.
 *
 * The server extension compares these numbers with PostgreSQL's headers when it is
 * compiled (record_view.c).  Numbers are in the byte order of the machine that
 * wrote the WAL, which is that of the machine that reads it.
 */
#ifndef REDOAHEAD_WAL_FORMAT_H
#define REDOAHEAD_WAL_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

/* Built-in resource managers of which we know records. */
#define WAL_RMGR_XLOG			0
#define WAL_RMGR_XACT			1
#define WAL_RMGR_SMGR			2
#define WAL_RMGR_CLOG			3
#define WAL_RMGR_DBASE			4
#define WAL_RMGR_MULTIXACT		6
#define WAL_RMGR_HEAP2			9
#define WAL_RMGR_HEAP			10
#define WAL_RMGR_COMMIT_TS		18

/* Least number of a resource manager of an extension. */
#define WAL_RMGR_MIN_CUSTOM		128

/* Bits of a record's info byte that all resource managers have in common. */
#define WAL_INFO_COMMON			0x0F

/* Some of them: redo is checked by the images, and it can do without them (patched server). */
#define WAL_INFO_CHECK_CONSISTENCY	0x02
#define WAL_INFO_IMAGES_OPTIONAL	0x04

/* The operation in the info byte, by resource manager. */
#define WAL_XLOG_SWITCH				0x40
#define WAL_XLOG_PARAMETER_CHANGE	0x60
#define WAL_XLOG_FPI_FOR_HINT		0xA0

#define WAL_XACT_OPERATION			0x70
#define WAL_XACT_HAS_INFO			0x80
#define WAL_XACT_COMMIT				0x00
#define WAL_XACT_ABORT				0x20
#define WAL_XACT_COMMIT_PREPARED	0x30
#define WAL_XACT_ABORT_PREPARED		0x40

#define WAL_SMGR_CREATE				0x10
#define WAL_SMGR_TRUNCATE			0x20

/* Creation of a database as a whole; the number of its dropping is in wal_format. */
#define WAL_DBASE_CREATE_FILE_COPY	0x00

#define WAL_CLOG_ZERO_PAGE			0x00
#define WAL_COMMIT_TS_ZERO_PAGE		0x00
#define WAL_MULTIXACT_ZERO_OFFSETS	0x00
#define WAL_MULTIXACT_ZERO_MEMBERS	0x10
#define WAL_MULTIXACT_CREATE		0x20

#define WAL_HEAP_OPERATION			0x70
#define WAL_HEAP_INSERT				0x00
#define WAL_HEAP_DELETE				0x10
#define WAL_HEAP_UPDATE				0x20
#define WAL_HEAP_HOT_UPDATE			0x40
#define WAL_HEAP_LOCK				0x60
/* The next three are pruning, or freezing in some majors: see wal_prune. */
#define WAL_HEAP2_PRUNE_1			0x10
#define WAL_HEAP2_PRUNE_2			0x20
#define WAL_HEAP2_PRUNE_3			0x30
#define WAL_HEAP2_VISIBLE			0x40
#define WAL_HEAP2_MULTI_INSERT		0x50
#define WAL_HEAP2_LOCK_UPDATED		0x60

/* Where the byte of flags is in the main data of heap records. */
#define WAL_INSERT_FLAGS_AT			2
#define WAL_DELETE_FLAGS_AT			7
#define WAL_UPDATE_FLAGS_AT			7
#define WAL_LOCK_FLAGS_AT			7
#define WAL_LOCK_UPDATED_FLAGS_AT	7
#define WAL_MULTI_INSERT_FLAGS_AT	0
#define WAL_VISIBLE_FLAGS_AT		4
#define WAL_PRUNE_FLAGS_AT			1
#define WAL_WIDE_PRUNE_FLAGS_AT		0	/* 16 bits: WAL_PRUNE_BY_WIDE_FLAGS */

/* Bits of these flags: visibility map bits that redo clears or sets. */
#define WAL_INSERT_CLEARS			0x01
#define WAL_DELETE_CLEARS			0x01
#define WAL_UPDATE_CLEARS_OLD		0x01
#define WAL_UPDATE_CLEARS_NEW		0x02
#define WAL_LOCK_CLEARS				0x01
#define WAL_VISIBLE_BITS			0x03

/* Bits of the flags of a prune record: it made room (major 17 and later), it sets the
 * page's bits of the visibility map (major 19 and later). */
#define WAL_PRUNE_MADE_ROOM			0xE0
#define WAL_PRUNE_SETS_VISIBLE		0x100

/* Creation of a relation's fork: tablespace, database, relation, fork. */
#define WAL_SMGR_CREATE_BYTES		16
#define WAL_SMGR_CREATE_RELATION_AT	0
#define WAL_SMGR_CREATE_FORK_AT		12

/* Truncation of a relation: first block cut off, tablespace, database, relation, flags. */
#define WAL_TRUNCATE_BYTES			20
#define WAL_TRUNCATE_BLOCK_AT		0
#define WAL_TRUNCATE_RELATION_AT	4
#define WAL_TRUNCATE_FLAGS_AT		16
#define WAL_TRUNCATE_MAIN			0x01
#define WAL_TRUNCATE_VM				0x02
#define WAL_TRUNCATE_FSM			0x04

/* Creation by copying and dropping of a database: the database, and at least a number more. */
#define WAL_DBASE_BYTES				8
#define WAL_DBASE_DATABASE_AT		0

/* Commit and abort: a time, then what the bits of xinfo announce, in this order. */
#define WAL_XACT_TIME_BYTES			8
#define WAL_XINFO_DATABASE			0x001
#define WAL_XINFO_SUBXACTS			0x002
#define WAL_XINFO_RELATIONS			0x004
#define WAL_XINFO_INVALIDATIONS		0x008
#define WAL_XINFO_TWOPHASE			0x010
#define WAL_XINFO_DROPPED_STATS		0x100
#define WAL_XACT_DATABASE_BYTES		8
#define WAL_XACT_RELATION_BYTES		12
#define WAL_XACT_INVALIDATION_BYTES	16

/*
 * Creation of a multixact: its ID, first member, number of members, the members.  Where
 * these are depends on the size of the first member's number, "bytes".
 */
#define WAL_MULTIXACT_FIRST_AT(bytes)	(bytes)
#define WAL_MULTIXACT_COUNT_AT(bytes)	(2 * (bytes))
#define WAL_MULTIXACT_BYTES(bytes)		(2 * (bytes) + 4)
#define WAL_MULTIXACT_MEMBER_BYTES	8

/* A change of settings on the primary, up to track_commit_timestamp. */
#define WAL_PARAMETERS_BYTES		28
#define WAL_PARAMETERS_COMMIT_TS_AT	25

/* Which of the three operations at WAL_HEAP2_PRUNE_1 make room in a page. */
enum wal_prune
{
	WAL_PRUNE_FIRST,			/* the first; the second freezes */
	WAL_PRUNE_FIRST_TWO,		/* the first two; the third freezes */
	WAL_PRUNE_BY_FLAGS,			/* all, if the record's flags say so */
	WAL_PRUNE_BY_WIDE_FLAGS		/* likewise, or if it sets bits of the visibility map, which
								 * no other record does */
};

/* What differs between majors. */
struct wal_format
{
	int			major;			/* of PostgreSQL */
	uint16_t	page_magic;		/* of a WAL page */
	uint8_t		image_applies;	/* bit of bimg_info: redo restores the image */
	uint8_t		image_compressed;	/* bits of bimg_info: compressed, if any is set */
	uint8_t		image_extended; /* likewise, by a method of the patched server */
	enum wal_prune prune;		/* which records prune */
	uint8_t		dbase_drop;		/* operation in the info byte: drops a database */
	uint8_t		slru_page_bytes;	/* size of a page number in a "zero page" record, bytes */
	uint8_t		dropped_stats_bytes;	/* size of an item of dropped statistics in a commit record */
	uint8_t		multixact_bytes;	/* size of the number of a multixact's member */
	uint8_t		page_flags;		/* flags that the header of a page may have */
	uint8_t		page_overwrites;	/* that of a page where a record was overwritten */
};

const struct wal_format *wal_format__of_major(int major);
const struct wal_format *wal_format__of_page(uint16_t page_magic);

#endif							/* REDOAHEAD_WAL_FORMAT_H */
