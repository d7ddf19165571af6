/*
 * handshake.c
 *		The ring, and the message by which the daemon gets it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "common/memfd.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "handshake.h"

/*
 * Create, map and seal the ring, with room for c->refs references.  Returns its
 * descriptor, or -1 with errno set.
 */
int
handshake__create_ring(Connection *c)
{
	struct redoahead_ring *ring;
	uint32		capacity = pg_nextpower2_32(Max(c->refs, REDOAHEAD_MIN_CAPACITY));
	bool		failed;
	int			fd;

	c->ring_bytes = sizeof(*ring) + (size_t) capacity * sizeof(struct redoahead_ref);

	fd = memfd__create("redoahead", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	/* Allocate it, because writing to a page that cannot be had would be a SIGBUS. */
	do
		failed = fallocate(fd, 0, 0, c->ring_bytes) < 0;
	while (failed && errno == EINTR);
	if (failed ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
	{
		close(fd);
		return -1;
	}
	ring = mmap(NULL, c->ring_bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_POPULATE, fd, 0);
	if (ring == MAP_FAILED)
	{
		close(fd);
		return -1;
	}

	ring->magic = REDOAHEAD_MAGIC;
	ring->version = REDOAHEAD_ABI_VERSION;
	ring->ref_size = sizeof(struct redoahead_ref);
	ring->capacity = capacity;
	ring->refs_offset = sizeof(*ring);

	c->emitter = (Emitter)
	{
		.ring = ring,
			.refs = (struct redoahead_ref *) (ring + 1),
			.capacity = capacity,
	};
	return fd;
}

/* Send the handshake with the ring and the eventfd.  False with errno set. */
bool
handshake__send(Connection *c, int ring_fd)
{
	struct redoahead_handshake handshake = {0};
	union
	{
		struct cmsghdr align;
		char		bytes[CMSG_SPACE(2 * sizeof(int))];
	}			control = {0};
	struct iovec iov = {&handshake, sizeof(handshake)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *cmsg;
	struct stat st;

	handshake.magic = REDOAHEAD_MAGIC;
	handshake.version = REDOAHEAD_ABI_VERSION;
	handshake.server_version = PG_VERSION_NUM;
	handshake.system_identifier = GetSystemIdentifier();
	handshake.block_size = BLCKSZ;
	handshake.segment_blocks = RELSEG_SIZE;
	handshake.ring_bytes = c->ring_bytes;
	handshake.wal_segment_bytes = wal_segment_size;

	/* In archive recovery, WAL has just been written when it is read. */
	handshake.timeline = ArchiveRecoveryRequested ? 0 : recoveryTargetTLI;
	strlcpy(handshake.tablespace_dir, TABLESPACE_VERSION_DIRECTORY,
			sizeof(handshake.tablespace_dir));
	if (stat(DataDir, &st) == 0)
	{
		handshake.device = st.st_dev;
		handshake.inode = st.st_ino;
	}

	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(cmsg), (int[]) {ring_fd, c->wake_fd}, 2 * sizeof(int));

	return sendmsg(c->sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(handshake);
}
