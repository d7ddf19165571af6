/*
 * controlfile.c
 *		Reads the cluster's state and its sizes from pg_control.
 *
 * The file's layout differs between majors, but the state is at the same offset in
 * all of them, and the sizes follow the double 1234567.0 (FLOATFORMAT_VALUE).  Does
 * not verify the checksum: the server does.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cluster/controlfile.h"

/* Offset of the state, bytes. */
#define STATE_OFFSET	16

/* FLOATFORMAT_VALUE; block size, segment size, WAL block and segment size follow. */
static const double format_mark = 1234567.0;

static bool
is_power_of_two(uint32_t number)
{
	return number != 0 && (number & (number - 1)) == 0;
}

/* Read the beginning of the file's contents; -EINVAL if it is none. */
int
controlfile__parse(struct controlfile *control, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint32_t	sizes[4];

	for (size_t at = STATE_OFFSET + 8; at + 8 + sizeof(sizes) <= size; at += 8)
	{
		if (memcmp(bytes + at, &format_mark, sizeof(format_mark)) != 0)
			continue;
		memcpy(sizes, bytes + at + sizeof(format_mark), sizeof(sizes));
		if (!is_power_of_two(sizes[0]) || sizes[0] < 1024 || sizes[0] > 32768 ||
			sizes[1] == 0 || !is_power_of_two(sizes[3]))
			return -EINVAL;
		memcpy(&control->state, bytes + STATE_OFFSET, sizeof(control->state));
		control->block_size = sizes[0];
		control->segment_blocks = sizes[1];
		control->wal_segment_bytes = sizes[3];
		return 0;
	}
	return -EINVAL;
}

/* Read the file. */
int
controlfile__read(struct controlfile *control, const struct cluster *cluster)
{
	char		data[CONTROLFILE_BYTES];
	int			n = cluster__read_file(cluster, "global/pg_control", data, sizeof(data));

	return n < 0 ? n : controlfile__parse(control, data, (size_t) n);
}

/* Does a server that starts on the cluster have to recover? */
bool
controlfile__needs_recovery(const struct controlfile *control, const struct cluster *cluster)
{
	return (control->state != CONTROLFILE_STARTUP && control->state != CONTROLFILE_SHUT_DOWN) ||
		faccessat(cluster->dirfd, "recovery.signal", F_OK, 0) == 0 ||
		faccessat(cluster->dirfd, "standby.signal", F_OK, 0) == 0;
}
