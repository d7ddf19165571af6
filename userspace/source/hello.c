/*
 * hello.c
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

#include "source/hello.h"

/* Bounds that PostgreSQL's configure sets: BLCKSZ and RELSEG_SIZE. */
#define MIN_BLOCK_SIZE	1024
#define MAX_BLOCK_SIZE	32768
#define MAX_SEGMENT_BYTES	(UINT64_C(1) << 40)

/* Bounds of initdb --wal-segsize, bytes. */
#define MIN_WAL_SEGMENT	(1024 * 1024)
#define MAX_WAL_SEGMENT	(1024 * 1024 * 1024)

/* Fill in a refusal. */
void
hello__refuse(struct hello_verdict *verdict, uint32_t status, const char *format,...)
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
hello__parse(const void *message, size_t bytes, struct redoahead_hello *hello,
			 struct hello_verdict *verdict)
{
	const size_t head = offsetof(struct redoahead_hello, server_version);

	memset(hello, 0, sizeof(*hello));
	memcpy(hello, message, bytes < sizeof(*hello) ? bytes : sizeof(*hello));

	/* Another version's message may have another length: version first. */
	if (bytes < head || hello->magic != REDOAHEAD_MAGIC)
		hello__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "not a redoahead hello; check who connects to this socket");
	else if (hello->version != REDOAHEAD_ABI_VERSION)
		hello__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "daemon speaks version %d, server %u; install matching versions",
					  REDOAHEAD_ABI_VERSION, hello->version);
	else if (bytes != sizeof(*hello))
		hello__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "hello of %zu bytes, not %zu; install matching versions",
					  bytes, sizeof(*hello));
	else if (!is_power_of_two(hello->block_size) ||
			 hello->block_size < MIN_BLOCK_SIZE || hello->block_size > MAX_BLOCK_SIZE)
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "block size %u is impossible; report a bug", hello->block_size);
	else if (hello->segment_blocks == 0 ||
			 (uint64_t) hello->segment_blocks * hello->block_size > MAX_SEGMENT_BYTES)
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "segment size of %u blocks is impossible; report a bug",
					  hello->segment_blocks);
	else if (!is_power_of_two(hello->wal_segment_bytes) ||
			 hello->wal_segment_bytes < MIN_WAL_SEGMENT ||
			 hello->wal_segment_bytes > MAX_WAL_SEGMENT)
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "WAL segment size of %u bytes is impossible; report a bug",
					  hello->wal_segment_bytes);
	else if (memchr(hello->tablespace_dir, '\0', sizeof(hello->tablespace_dir)) == NULL ||
			 !is_directory_name(hello->tablespace_dir))
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "tablespace directory is no file name; report a bug");
	else if (memchr(hello->data_directory, '\0', sizeof(hello->data_directory)) == NULL ||
			 hello->data_directory[0] != '/')
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "data directory is no absolute path; report a bug");
	else if (hello->ring_bytes < sizeof(struct redoahead_ring) ||
			 hello->ring_bytes > sizeof(struct redoahead_ring) + 65536 +
			 (uint64_t) REDOAHEAD_MAX_CAPACITY * sizeof(struct redoahead_ref))
		hello__refuse(verdict, REDOAHEAD_BAD_RING,
					  "ring of %llu bytes is impossible; report a bug",
					  (unsigned long long) hello->ring_bytes);
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
hello__match(const struct redoahead_hello *hello, const struct cluster *cluster,
			 struct hello_verdict *verdict)
{
	uint64_t	identifier;
	struct stat st;

	if (stat(hello->data_directory, &st) < 0 ||
		st.st_dev != cluster->device || st.st_ino != cluster->inode)
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "daemon serves another data directory; start it with -D of this server");
	else if (cluster__system_identifier(cluster, &identifier) < 0 ||
			 identifier != hello->system_identifier)
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "daemon serves another cluster (system identifier); restart it");
	else if (cluster__major(cluster) != (int) (hello->server_version / 10000))
		hello__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "PG_VERSION is not of server %u; start the server of that major",
					  hello->server_version);
	else
		return 0;
	return -1;
}
