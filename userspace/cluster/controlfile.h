/*
 * controlfile.h
 *		The contents of pg_control.
 */
#ifndef REDOAHEAD_CLUSTER_CONTROLFILE_H
#define REDOAHEAD_CLUSTER_CONTROLFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "cluster/relpath.h"

/* Part of the file that is used, bytes. */
#define CONTROLFILE_BYTES	512

/* PostgreSQL's DBState; the numbers are in the file. */
enum controlfile_state
{
	CONTROLFILE_STARTUP = 0,
	CONTROLFILE_SHUT_DOWN = 1,
	CONTROLFILE_SHUT_DOWN_IN_RECOVERY = 2,
	CONTROLFILE_SHUTTING_DOWN = 3,
	CONTROLFILE_IN_CRASH_RECOVERY = 4,
	CONTROLFILE_IN_ARCHIVE_RECOVERY = 5,
	CONTROLFILE_IN_PRODUCTION = 6
};

struct controlfile
{
	uint32_t	state;			/* enum controlfile_state, or a number we do not know */
	uint32_t	block_size;		/* BLCKSZ, bytes */
	uint32_t	segment_blocks; /* RELSEG_SIZE, blocks in a segment file */
	uint32_t	wal_page_bytes; /* XLOG_BLCKSZ, bytes */
	uint32_t	wal_segment_bytes;	/* size of a WAL segment, bytes */
	uint64_t	system_identifier;	/* of the cluster */
	uint32_t	catalog_version;	/* of the server that made it */
	uint64_t	redo_lsn;		/* where recovery begins, unless backup_label has another */
	uint32_t	timeline;		/* of the last checkpoint */
	uint32_t	end_timeline;	/* minRecoveryPointTLI: 0 once the server has made a checkpoint */
	bool		commit_ts;		/* track_commit_timestamp */
	bool		full_page_writes;	/* at the last checkpoint */
	bool		checksums;		/* pages have checksums */
};

int			controlfile__parse(struct controlfile *control, const void *data, size_t size);
int			controlfile__read(struct controlfile *control, const struct cluster *cluster);
struct relpath_layout controlfile__layout(const struct controlfile *control,
										  const struct cluster *cluster);
bool		controlfile__needs_recovery(const struct controlfile *control,
										const struct cluster *cluster);

#endif							/* REDOAHEAD_CLUSTER_CONTROLFILE_H */
