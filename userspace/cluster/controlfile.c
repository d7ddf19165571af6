/*
 * controlfile.c
 *		Reads the cluster's state and its sizes from pg_control.
 *
 * The file's layout differs between majors, but what comes before the end of the last
 * checkpoint's full_page_writes is at the same offsets in all of them, and the sizes and
 * the version of data checksums follow the double 1234567.0 (FLOATFORMAT_VALUE), with
 * settings and minRecoveryPointTLI before it.  PostgreSQL 19 has the size of an
 * SLRU segment among the sizes.  Does not verify the checksum: the
 * server does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cluster/controlfile.h"

/* Offsets that all majors have in common, bytes. */
#define IDENTIFIER_OFFSET	0
#define VERSION_OFFSET		8
#define CATALOG_VERSION_OFFSET	12
#define STATE_OFFSET		16
#define REDO_LSN_OFFSET		40
#define TIMELINE_OFFSET		48
#define FULL_PAGE_WRITES_OFFSET	56
#define COMMON_BYTES		64

/* Most times that the file is read. */
#define MAX_READS			10

/* How far minRecoveryPointTLI and track_commit_timestamp are before the double, bytes. */
#define END_TIMELINE_BEFORE	64
#define COMMIT_TS_BEFORE	8

/* How far the version of data checksums is behind it without an SLRU's size, bytes. */
#define CHECKSUMS_BEHIND	44

/* First version of the file with the number of pages in a segment of an SLRU. */
#define FIRST_WITH_SLRU_SIZE	1902

/* FLOATFORMAT_VALUE; block size, segment size (an SLRU's), WAL block and segment size follow. */
static const double format_mark = 1234567.0;

static bool
is_power_of_two(uint32_t number)
{
	return number != 0 && (number & (number - 1)) == 0;
}

/* The layout of the cluster's files; WAL is not among what is read ahead. */
struct relpath_layout
controlfile__layout(const struct controlfile *control, const struct cluster *cluster)
{
	struct relpath_layout layout = {
		.block_size = control->block_size,.segment_blocks = control->segment_blocks,
		.wal_segment_bytes = control->wal_segment_bytes,
		.long_member_names = cluster->major >= RELPATH_FIRST_LONG_MEMBERS,
	};

	snprintf(layout.tablespace_dir, sizeof(layout.tablespace_dir), "PG_%d_%u", cluster->major,
			 control->catalog_version);
	return layout;
}

/* Read the beginning of the file's contents; -EINVAL if it is none. */
int
controlfile__parse(struct controlfile *control, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint32_t	sizes[4];
	uint32_t	checksums;
	uint32_t	version;
	size_t		extra = 0;		/* size of the SLRU's size, bytes */

	if (size < COMMON_BYTES)
		return -EINVAL;
	memcpy(&version, bytes + VERSION_OFFSET, sizeof(version));
	if (version >= FIRST_WITH_SLRU_SIZE)
		extra = sizeof(uint32_t);
	for (size_t at = COMMON_BYTES + END_TIMELINE_BEFORE;
		 at + CHECKSUMS_BEHIND + extra + sizeof(uint32_t) <= size; at += 8)
	{
		if (memcmp(bytes + at, &format_mark, sizeof(format_mark)) != 0)
			continue;
		memcpy(sizes, bytes + at + sizeof(format_mark), 2 * sizeof(*sizes));
		memcpy(sizes + 2, bytes + at + sizeof(format_mark) + 2 * sizeof(*sizes) + extra,
			   2 * sizeof(*sizes));
		if (!is_power_of_two(sizes[0]) || sizes[0] < 1024 || sizes[0] > 32768 ||
			sizes[1] == 0 || !is_power_of_two(sizes[2]) || sizes[2] < 1024 || sizes[2] > 65536 ||
			!is_power_of_two(sizes[3]) || sizes[3] < 1024 * 1024 || sizes[3] > 1024 * 1024 * 1024)
			return -EINVAL;
		memcpy(&control->system_identifier, bytes + IDENTIFIER_OFFSET, sizeof(uint64_t));
		memcpy(&control->catalog_version, bytes + CATALOG_VERSION_OFFSET, sizeof(uint32_t));
		memcpy(&control->state, bytes + STATE_OFFSET, sizeof(uint32_t));
		memcpy(&control->redo_lsn, bytes + REDO_LSN_OFFSET, sizeof(uint64_t));
		memcpy(&control->timeline, bytes + TIMELINE_OFFSET, sizeof(uint32_t));
		memcpy(&checksums, bytes + at + CHECKSUMS_BEHIND + extra, sizeof(uint32_t));
		control->full_page_writes = bytes[FULL_PAGE_WRITES_OFFSET] != 0;
		control->checksums = checksums != 0;
		memcpy(&control->end_timeline, bytes + at - END_TIMELINE_BEFORE, sizeof(uint32_t));
		control->commit_ts = bytes[at - COMMIT_TS_BEFORE] != 0;
		control->block_size = sizes[0];
		control->segment_blocks = sizes[1];
		control->wal_page_bytes = sizes[2];
		control->wal_segment_bytes = sizes[3];
		return 0;
	}
	return -EINVAL;
}

/*
 * Read the file.  The server may be writing to it, so it counts when it has been read twice
 * alike.
 */
int
controlfile__read(struct controlfile *control, const struct cluster *cluster)
{
	char		data[2][CONTROLFILE_BYTES];
	int			n[2] = {-EIO, -EIO};

	for (int i = 0; i < MAX_READS && (n[0] != n[1] || n[0] <= 0 ||
									  memcmp(data[0], data[1], (size_t) n[0]) != 0); i++)
		n[i % 2] = cluster__read_file(cluster, "global/pg_control", data[i % 2],
									  sizeof(data[0]));
	return n[0] < 0 ? n[0] : controlfile__parse(control, data[0], (size_t) n[0]);
}

/* Does a server that starts on the cluster have to recover? */
bool
controlfile__needs_recovery(const struct controlfile *control, const struct cluster *cluster)
{
	return (control->state != CONTROLFILE_STARTUP && control->state != CONTROLFILE_SHUT_DOWN) ||
		faccessat(cluster->dirfd, "backup_label", F_OK, 0) == 0 ||
		faccessat(cluster->dirfd, "recovery.signal", F_OK, 0) == 0 ||
		faccessat(cluster->dirfd, "standby.signal", F_OK, 0) == 0;
}
