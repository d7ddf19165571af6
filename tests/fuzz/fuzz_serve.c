/*
 * fuzz_serve.c
 *		Fuzzes all that the daemon parses: the handshake, the header of the ring,
 *		and references.
 *
 * The first byte of the input chooses which.  References go through the whole
 * queue, and what it returns must satisfy what the engine relies on.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/block_queue.h"
#include "source/handshake.h"
#include "source/ring.h"

#define MAX_REFS	512
#define MAX_RUN		BLOCK_RUN_MAX

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(int holds)
{
	if (!holds)
		abort();
}

static void
fuzz_handshake(const uint8_t *data, size_t size)
{
	struct redoahead_handshake handshake;
	struct handshake_verdict verdict;

	if (handshake__parse(data, size, &handshake, &verdict) < 0)
	{
		check(verdict.status != REDOAHEAD_ACCEPTED);
		check(verdict.reason[0] != '\0');
		return;
	}
	check(handshake.block_size >= 1024 && handshake.segment_blocks > 0);
	check(strchr(handshake.tablespace_dir, '/') == NULL);
}

static void
fuzz_ring(const uint8_t *data, size_t size)
{
	struct redoahead_ring header = {
		.magic = REDOAHEAD_MAGIC,.version = REDOAHEAD_ABI_VERSION,
		.ref_size = sizeof(struct redoahead_ref),
	};
	uint64_t	bytes;
	const char *reason = NULL;

	if (size < sizeof(bytes) + 8)
		return;
	memcpy(&bytes, data, sizeof(bytes));
	memcpy(&header.capacity, data + 8, 8);
	if (size >= sizeof(bytes) + sizeof(header))
		memcpy(&header, data + 8, sizeof(header));
	if (ring__check(&header, bytes, &reason) < 0)
	{
		check(reason != NULL);
		return;
	}
	check(header.refs_offset >= sizeof(header) && header.refs_offset < bytes);
	check((bytes - header.refs_offset) / sizeof(struct redoahead_ref) == header.capacity);
}

static void
check_run(const struct block_run *run, const struct relpath_layout *layout)
{
	char		path[RELPATH_BYTES];

	relpath__format(&run->key, layout, path);
	check(path[0] != '/' && strstr(path, "..") == NULL);
	check(strlen(path) < RELPATH_BYTES - 1);
	check(run->blocks >= 1 && run->blocks <= MAX_RUN);
	check((run->needed & 1) && run->needed >> (run->blocks - 1) == 1);
	check((uint64_t) run->block + run->blocks <=
		  (run->key.kind == REDOAHEAD_KIND_SLRU ?
		   REDOAHEAD_SLRU_PAGES_PER_SEGMENT : layout->segment_blocks));
}

/* References, of which every eighth is the position of redo. */
static void
fuzz_refs(const uint8_t *data, size_t size)
{
	static struct redoahead_ref refs[MAX_REFS];
	struct relpath_layout layout = {.block_size = 8192,.tablespace_dir = "PG_18_202506291"};
	struct block_queue queue;
	struct block_run run;
	uint64_t	returned = 0;
	uint64_t	valid = 0;
	unsigned	count;

	if (size < 4)
		return;
	memcpy(&layout.segment_blocks, data, 4);
	if (layout.segment_blocks == 0)
		return;
	count = (unsigned) ((size - 4) / sizeof(refs[0]));
	if (count > MAX_REFS)
		count = MAX_REFS;
	memcpy(refs, data + 4, count * sizeof(refs[0]));

	check(block_queue__create(&queue, BLOCK_QUEUE_MIN_ENTRIES) == 0);
	for (unsigned i = 0; i < count; i++)
	{
		struct relpath_key key;
		uint32_t	block;
		enum invalid_reason reason;

		if (relpath__resolve(&refs[i], &layout, &key, &block, &reason) < 0)
		{
			check(reason < INVALID_REASON_COUNT);
			continue;
		}
		if (block_queue__room(&queue) == 0)
			while (block_queue__retire(&queue, UINT64_MAX, &run))
				returned++;
		if (block_queue__room(&queue) == 0)
			continue;
		block_queue__add(&queue, &key, block, refs[i].lsn);
		valid++;
		if (i % 8 == 7)
		{
			while (block_queue__retire(&queue, refs[i].lsn, &run))
				returned++;
			while (block_queue__used(&queue, refs[i].reserved % 128, &run))
				check_run(&run, &layout);
		}
		else if (i % 4 == 3 ? block_queue__next_deadline(&queue, refs[i].flags, &run) :
				 block_queue__next(&queue, MAX_RUN, refs[i].reserved % MAX_RUN, &run))
		{
			check_run(&run, &layout);
			returned += block_run__needed(&run, run.blocks) + block_queue__finish(&queue, &run, refs[i].reserved %
														 (BLOCK_READ_ABSENT + 1));
		}
		else
			block_queue__begin_sweep(&queue, refs[i].flags);
	}
	while (block_queue__retire(&queue, UINT64_MAX, &run))
		returned++;
	/* An LSN that nothing comes after is never retired. */
	check(returned + queue.queued == valid && queue.queued <= queue.head - queue.tail);
	block_queue__destroy(&queue);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0] % 3)
	{
		case 0:
			fuzz_handshake(data + 1, size - 1);
			break;
		case 1:
			fuzz_ring(data + 1, size - 1);
			break;
		default:
			fuzz_refs(data + 1, size - 1);
	}
	return 0;
}
