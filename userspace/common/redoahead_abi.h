/*
 * redoahead_abi.h
 *		The protocol between the patched server and the redoahead daemon.
 *
 * The startup process connects to the daemon's SOCK_SEQPACKET unix socket and
 * sends one redoahead_handshake with two descriptors (SCM_RIGHTS): the sealed
 * memfd that holds a redoahead_ring, and an eventfd that wakes the daemon.  The
 * daemon answers with one redoahead_reply.  After that no data is sent: either
 * side closes the socket when it ends the connection, or when it dies.
 *
 * The server creates, sizes and seals the memfd (F_SEAL_SHRINK, F_SEAL_GROW,
 * F_SEAL_SEAL), so neither side can take mapped memory away from the other.
 * Neither side trusts an index, a size or a string that the other wrote.
 *
 * This file holds constants and fixed-width structs only; it is included by
 * the server extension (C, PostgreSQL headers) and by the daemon.
 */
#ifndef REDOAHEAD_ABI_H
#define REDOAHEAD_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Version of everything in this file; both sides must have the same. */
#define REDOAHEAD_ABI_VERSION	4

/* First bytes of each message and of the ring: "REDOAHD\1", little endian. */
#define REDOAHEAD_MAGIC			UINT64_C(0x0144484145444552)

/* Socket path relative to the data directory, unless set otherwise. */
#define REDOAHEAD_DEFAULT_SOCKET	"pg_stat_tmp/redoahead.sock"

/* Ring capacity in references: a power of two within these bounds. */
#define REDOAHEAD_MIN_CAPACITY	1024
#define REDOAHEAD_MAX_CAPACITY	(1024 * 1024)

/* What a reference points into; in redoahead_ref.kind. */
#define REDOAHEAD_KIND_RELATION	0	/* a relation fork */
#define REDOAHEAD_KIND_SLRU		1	/* an SLRU; rel is one of the next group */

/* SLRU identifiers, in redoahead_ref.rel when kind is REDOAHEAD_KIND_SLRU. */
#define REDOAHEAD_SLRU_XACT				0	/* pg_xact */
#define REDOAHEAD_SLRU_MULTIXACT_OFFSET	1	/* pg_multixact/offsets */
#define REDOAHEAD_SLRU_MULTIXACT_MEMBER	2	/* pg_multixact/members */
#define REDOAHEAD_SLRU_COMMIT_TS		3	/* pg_commit_ts */
#define REDOAHEAD_SLRU_COUNT			4

/* Pages in one SLRU segment file (SLRU_PAGES_PER_SEGMENT). */
#define REDOAHEAD_SLRU_PAGES_PER_SEGMENT	32

/* Fork numbers, as PostgreSQL's; in redoahead_ref.fork. */
#define REDOAHEAD_FORK_MAIN		0
#define REDOAHEAD_FORK_FSM		1
#define REDOAHEAD_FORK_VM		2
#define REDOAHEAD_FORK_INIT		3
#define REDOAHEAD_FORK_COUNT	4

/* redoahead_ref.flags */
#define REDOAHEAD_REF_IMPLIED	0x01	/* not named by the WAL record, but implied */

/* One block that redo will need. */
struct redoahead_ref
{
	uint64_t	lsn;			/* start of the WAL record that needs it */
	uint32_t	spc;			/* tablespace OID (1663 base, 1664 global) */
	uint32_t	db;				/* database OID, 0 for shared relations */
	uint32_t	rel;			/* relfilenumber, or REDOAHEAD_SLRU_* */
	uint32_t	block;			/* block number in the fork, page in the SLRU */
	uint8_t		fork;			/* REDOAHEAD_FORK_* */
	uint8_t		kind;			/* REDOAHEAD_KIND_* */
	uint16_t	flags;			/* REDOAHEAD_REF_* */
	uint32_t	reserved;		/* 0 */
};

static_assert(sizeof(struct redoahead_ref) == 32, "redoahead_ref is 32 bytes");
static_assert(offsetof(struct redoahead_ref, fork) == 24, "redoahead_ref layout");

/*
 * The shared memory.  Indexes count references since the ring was made and
 * never wrap in practice; the slot of index i is i % capacity.  Each group of
 * fields that one side writes has cache lines of its own.
 *
 * head and tail are stored with release and loaded with acquire order by the
 * other side; all other shared fields are relaxed.
 */
struct redoahead_ring
{
	/* Constant once the handshake is sent. */
	uint64_t	magic;			/* REDOAHEAD_MAGIC */
	uint32_t	version;		/* REDOAHEAD_ABI_VERSION */
	uint32_t	ref_size;		/* sizeof(struct redoahead_ref) */
	uint32_t	capacity;		/* references, a power of two */
	uint32_t	refs_offset;	/* bytes from the start to the first reference */
	uint8_t		pad0[40];

	/* Written by the server: one line for the index, one for the rest. */
	uint64_t	head;			/* references emitted */
	uint8_t		pad1[56];
	uint64_t	replay_lsn;		/* start of the record being replayed, or end of the last one; at the
								 * end of recovery, once more the start of that */
	uint64_t	decode_lsn;		/* start of the last record decoded */
	uint64_t	dropped;		/* references not emitted: the ring was full */
	uint32_t	hot_standby;	/* 1: queries may run beside redo */
	uint32_t	goes_on;		/* 1: the server ends the connection in the middle of recovery */
	uint8_t		pad2[32];

	/* Written by the daemon: one line for the index, one for the rest. */
	uint64_t	tail;			/* references taken; <= head */
	uint64_t	heartbeat;		/* changes at least every 100 ms while tail < head */
	uint32_t	sleeping;		/* 1: write to the eventfd after emitting */
	uint32_t	pad3;
	uint8_t		pad4[40];
	uint64_t	blocks_read;	/* blocks brought into the page cache */
	uint64_t	blocks_failed;	/* missing files, short reads, errors */
	uint64_t	blocks_stale;	/* replayed before they could be read */
	uint64_t	in_flight;		/* blocks being read */
	uint64_t	busy_ns;		/* CPU time of the daemon in this session, ns */
	uint32_t	io_depth;		/* most blocks in flight, as chosen at present */
	uint32_t	readahead_limit;	/* most blocks read ahead of redo, likewise */
	uint8_t		pad5[16];
};

static_assert(offsetof(struct redoahead_ring, head) == 64, "ring layout: head");
static_assert(offsetof(struct redoahead_ring, replay_lsn) == 128, "ring layout: replay_lsn");
static_assert(offsetof(struct redoahead_ring, tail) == 192, "ring layout: tail");
static_assert(offsetof(struct redoahead_ring, blocks_read) == 256, "ring layout: blocks_read");
static_assert(sizeof(struct redoahead_ring) == 320, "redoahead_ring is 320 bytes");

/* Server to daemon, once, with the memfd and the eventfd. */
struct redoahead_handshake
{
	uint64_t	magic;			/* REDOAHEAD_MAGIC */
	uint32_t	version;		/* REDOAHEAD_ABI_VERSION */
	uint32_t	server_version;	/* PG_VERSION_NUM */
	uint64_t	system_identifier;	/* from pg_control */
	uint32_t	block_size;		/* BLCKSZ, bytes */
	uint32_t	segment_blocks;	/* RELSEG_SIZE, blocks in a segment file */
	uint64_t	ring_bytes;		/* size of the memfd */
	uint32_t	wal_segment_bytes;	/* size of a WAL segment file */
	uint32_t	timeline;		/* whose WAL is read from pg_wal, all of which is there;
								 * 0: WAL comes from elsewhere, don't read it ahead */
	char		tablespace_dir[64]; /* TABLESPACE_VERSION_DIRECTORY */
	uint64_t	device;			/* of the data directory: st_dev */
	uint64_t	inode;			/* and st_ino; its path may differ between containers */
};

static_assert(sizeof(struct redoahead_handshake) == 128, "redoahead_handshake layout");

/* redoahead_reply.status */
#define REDOAHEAD_ACCEPTED		0
#define REDOAHEAD_BAD_VERSION	1	/* the versions differ */
#define REDOAHEAD_BAD_CLUSTER	2	/* the daemon serves another cluster */
#define REDOAHEAD_BAD_RING		3	/* memfd not sealed, wrong size, bad layout */
#define REDOAHEAD_BUSY			4	/* another startup process is connected */

/* Daemon to server, once. */
struct redoahead_reply
{
	uint64_t	magic;			/* REDOAHEAD_MAGIC */
	uint32_t	version;		/* the daemon's REDOAHEAD_ABI_VERSION */
	uint32_t	status;			/* REDOAHEAD_ACCEPTED, or why not */
	uint32_t	pid;			/* the daemon's process id, for the log */
	char		reason[108];	/* what is wrong and what to do, for the log */
};

static_assert(sizeof(struct redoahead_reply) == 128, "redoahead_reply layout");

#endif							/* REDOAHEAD_ABI_H */
