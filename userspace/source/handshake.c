/*
 * handshake.c
 *		Decides whether what a server says of itself is sane, and whether it is
 *		a server of our cluster.
 *
 * The message comes from another process and may hold anything.  The memory
 * that comes with it is looked at in ring.c, the descriptors in listener.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "source/handshake.h"

/* Bounds that PostgreSQL's configure sets: BLCKSZ and RELSEG_SIZE. */
#define MIN_BLOCK_SIZE	1024
#define MAX_BLOCK_SIZE	32768
#define MAX_SEGMENT_BYTES	(UINT64_C(1) << 40)

/* Bounds of initdb --wal-segsize, bytes. */
#define MIN_WAL_SEGMENT	(1024 * 1024)
#define MAX_WAL_SEGMENT	(1024 * 1024 * 1024)

/* Fill in a refusal. */
void
handshake__refuse(struct handshake_verdict *verdict, uint32_t status, const char *format,...)
{
	va_list		args;

	/* All of it is sent, so none of it may be left as it was. */
	memset(verdict, 0, sizeof(*verdict));
	verdict->status = status;
	va_start(args, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
	va_end(args);
}

static int
is_power_of_two(uint32_t number)
{
	return number != 0 && (number & (number - 1)) == 0;
}

/* One directory name: nothing that leads elsewhere, nothing strange. */
static int
is_directory_name(const char *name)
{
	if (name[0] == '\0' || name[0] == '.')
		return 0;
	for (; *name != '\0'; name++)
		if (*name <= ' ' || *name > '~' || *name == '/')
			return 0;
	return 1;
}

/*
 * Check a message for itself and copy it.  Returns 0, or -1 with the verdict
 * to send.
 */
int
handshake__parse(const void *message, size_t bytes, struct redoahead_handshake *handshake,
			 struct handshake_verdict *verdict)
{
	const size_t head = offsetof(struct redoahead_handshake, server_version);

	memset(handshake, 0, sizeof(*handshake));
	memcpy(handshake, message, bytes < sizeof(*handshake) ? bytes : sizeof(*handshake));

	/* Another version's message may have another length: version first. */
	if (bytes < head || handshake->magic != REDOAHEAD_MAGIC)
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "not a redoahead handshake; check who connects to this socket");
	else if (handshake->version != REDOAHEAD_ABI_VERSION)
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "daemon speaks version %d, server %u; install matching versions",
					  REDOAHEAD_ABI_VERSION, handshake->version);
	else if (bytes != sizeof(*handshake))
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "handshake of %zu bytes, not %zu; install matching versions",
					  bytes, sizeof(*handshake));
	else if (!is_power_of_two(handshake->block_size) ||
			 handshake->block_size < MIN_BLOCK_SIZE || handshake->block_size > MAX_BLOCK_SIZE)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "block size %u is impossible; report a bug", handshake->block_size);
	else if (handshake->segment_blocks == 0 ||
			 (uint64_t) handshake->segment_blocks * handshake->block_size > MAX_SEGMENT_BYTES)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "segment size of %u blocks is impossible; report a bug",
					  handshake->segment_blocks);
	else if (!is_power_of_two(handshake->wal_segment_bytes) ||
			 handshake->wal_segment_bytes < MIN_WAL_SEGMENT ||
			 handshake->wal_segment_bytes > MAX_WAL_SEGMENT)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "WAL segment size of %u bytes is impossible; report a bug",
					  handshake->wal_segment_bytes);
	else if (memchr(handshake->tablespace_dir, '\0', sizeof(handshake->tablespace_dir)) == NULL ||
			 !is_directory_name(handshake->tablespace_dir))
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "tablespace directory is no file name; report a bug");
	else if (memchr(handshake->data_directory, '\0', sizeof(handshake->data_directory)) == NULL ||
			 handshake->data_directory[0] != '/')
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "data directory is no absolute path; report a bug");
	else if (handshake->ring_bytes < sizeof(struct redoahead_ring) ||
			 handshake->ring_bytes > sizeof(struct redoahead_ring) + 65536 +
			 (uint64_t) REDOAHEAD_MAX_CAPACITY * sizeof(struct redoahead_ref))
		handshake__refuse(verdict, REDOAHEAD_BAD_RING,
					  "ring of %llu bytes is impossible; report a bug",
					  (unsigned long long) handshake->ring_bytes);
	else
	{
		verdict->status = REDOAHEAD_ACCEPTED;
		verdict->reason[0] = '\0';
		return 0;
	}
	return -1;
}

/*
 * Is it a server of this cluster?  Returns 0, or -1 with the verdict to send.
 */
int
handshake__match(const struct redoahead_handshake *handshake, const struct cluster *cluster,
			 struct handshake_verdict *verdict)
{
	uint64_t	identifier;
	struct stat st;

	if (stat(handshake->data_directory, &st) < 0 ||
		st.st_dev != cluster->device || st.st_ino != cluster->inode)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "daemon serves another data directory; start it with -D of this server");
	else if (cluster__system_identifier(cluster, &identifier) < 0 ||
			 identifier != handshake->system_identifier)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "daemon serves another cluster (system identifier); restart it");
	else if (cluster__major(cluster) != (int) (handshake->server_version / 10000))
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "PG_VERSION is not of server %u; start the server of that major",
					  handshake->server_version);
	else
		return 0;
	return -1;
}
