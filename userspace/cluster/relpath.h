/*
 * relpath.h
 *		Names of the files that hold a block.
 */
#ifndef REDOAHEAD_CLUSTER_RELPATH_H
#define REDOAHEAD_CLUSTER_RELPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/redoahead_abi.h"

/* OIDs of the tablespaces that every cluster has. */
#define RELPATH_DEFAULT_TABLESPACE	1663	/* pg_default: base/ */
#define RELPATH_GLOBAL_TABLESPACE	1664	/* pg_global: global/ */

/* A kind of file that servers do not name: a WAL segment. */
#define RELPATH_KIND_WAL	255

/* First major whose files in pg_multixact/members have names of 15 digits. */
#define RELPATH_FIRST_LONG_MEMBERS	19

/* Room for the longest path. */
#define RELPATH_BYTES	192

/* Why a reference cannot name a block. */
enum invalid_reason
{
	INVALID_KIND,				/* unknown kind of reference */
	INVALID_FORK,				/* unknown fork number */
	INVALID_SLRU,				/* unknown SLRU */
	INVALID_RELATION,			/* no relfilenumber */
	INVALID_DATABASE,			/* database and tablespace do not fit */
	INVALID_BLOCK,				/* block number that no file can have */
	INVALID_REASON_COUNT
};

/* How this cluster lays out its files. */
struct relpath_layout
{
	uint32_t	block_size;		/* BLCKSZ, bytes */
	uint32_t	segment_blocks; /* RELSEG_SIZE, blocks in a segment file */
	uint32_t	wal_segment_bytes;	/* size of a WAL segment, bytes */
	uint32_t	timeline;		/* whose WAL redo reads from pg_wal, 0 if from elsewhere */
	bool		long_member_names;	/* RELPATH_FIRST_LONG_MEMBERS */
	char		tablespace_dir[64]; /* TABLESPACE_VERSION_DIRECTORY */
};

/* One segment file; reserved bytes are zero, so that keys compare as bytes. */
struct relpath_key
{
	uint32_t	spc;			/* tablespace OID, 0 for an SLRU; timeline of WAL */
	uint32_t	db;				/* database OID, 0 for shared ones and SLRUs; WAL: middle
								 * part of the name */
	uint32_t	rel;			/* relfilenumber or REDOAHEAD_SLRU_*; WAL: its last part */
	uint32_t	segment;		/* number of the segment file */
	uint8_t		kind;			/* REDOAHEAD_KIND_* or RELPATH_KIND_WAL */
	uint8_t		fork;			/* REDOAHEAD_FORK_*, 0 for an SLRU */
	uint16_t	reserved;		/* 0 */
};

_Static_assert(sizeof(struct relpath_key) == 20, "relpath_key has no holes");

int			relpath__resolve(const struct redoahead_ref *ref,
							 const struct relpath_layout *layout,
							 struct relpath_key *key, uint32_t *block,
							 enum invalid_reason *reason);
void		relpath__format(const struct relpath_key *key,
							const struct relpath_layout *layout,
							char path[RELPATH_BYTES]);
int			relpath__parse(const char *path, struct relpath_key *key);
const char *relpath__fork_name(uint8_t fork);
const char *relpath__slru_directory(uint32_t slru);
const char *relpath__invalid_name(enum invalid_reason reason);

#endif							/* REDOAHEAD_CLUSTER_RELPATH_H */
