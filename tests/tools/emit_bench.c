/*
 * emit_bench.c
 *		What a block reference costs the startup process: the recent-block
 *		cache (recent_blocks.h) and the ring (emit.h), as redoahead.c uses them, in ns.
 *
 * A reader thread drains the ring as the daemon does, so the cache lines move
 * between two CPUs.  The stream is that of an update-heavy recovery: every
 * "refs per block"-th reference is to a new random block and is emitted, the
 * others repeat one of the last blocks.  Not measured here: the server's own
 * buffer table, in which blocks that the cache does not know are looked up.
 *
 * usage: emit_bench [REFERENCES [REFS-PER-BLOCK]]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../pg-patch/redoahead/emit.h"
#include "../../pg-patch/redoahead/recent_blocks.c"

#define WINDOW		8192		/* references between decoding and replay */
#define CAPACITY	65536		/* references in the ring */
#define STREAM		(1 << 20)	/* precomputed block numbers */

static struct redoahead_ring *ring;
static int	done;

/* The daemon's part: take what is there, a batch at a time. */
static void *
drain(void *arg)
{
	struct redoahead_ref *refs = (struct redoahead_ref *) (ring + 1);
	uint64_t	tail = 0;
	uint64_t	sum = 0;

	(void) arg;
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
	{
		uint64_t	head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

		for (; tail < head; tail++)
			sum += refs[tail % CAPACITY].block;
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
		for (int i = 0; i < 2000; i++)
			__asm__ volatile("" ::"r"(sum):"memory");
	}
	return NULL;
}

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int
main(int argc, char **argv)
{
	long		references = argc > 1 ? atol(argv[1]) : 20000000;
	long		per_block = argc > 2 ? atol(argv[2]) : 6;
	uint32_t   *blocks = malloc(STREAM * sizeof(*blocks));
	Emitter		emitter = {0};
	RecentBlocks	recent;
	pthread_t	reader;
	uint64_t	random = 88172645463325252;
	uint64_t	emitted = 0;
	uint64_t	start;
	uint64_t	elapsed;

	if (references < 1 || per_block < 1)
	{
		fprintf(stderr, "usage: %s [REFERENCES [REFS-PER-BLOCK]]\n", argv[0]);
		return 2;
	}
	ring = aligned_alloc(4096, 4096 * (1 + (sizeof(*ring) +
											CAPACITY * sizeof(struct redoahead_ref)) / 4096));
	if (!ring || !blocks || !recent_blocks__create(&recent, 32768))
	{
		fprintf(stderr, "%s: out of memory\n", argv[0]);
		return 1;
	}
	memset(ring, 0, sizeof(*ring) + CAPACITY * sizeof(struct redoahead_ref));
	emitter = (Emitter) {.ring = ring,.refs = (void *) (ring + 1),.capacity = CAPACITY};

	for (int i = 0; i < STREAM; i++)
	{
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		blocks[i] = (i % per_block == 0 || i < 64) ? random % 500000 :
			blocks[i - 1 - random % 60];
	}
	if (pthread_create(&reader, NULL, drain, NULL) != 0)
	{
		perror("pthread_create");
		return 1;
	}

	start = now_ns();
	for (long i = 0; i < references; i++)
	{
		BlockKey		key = block_key(1663, 5, 16390, blocks[i % STREAM], 0, 0);
		uint64_t	lsn = (i + 1) * 100;
		bool		found;
		RecentBlock *entry = recent_blocks__enter(&recent, &key, &found);

		if (found && entry->lsn + WINDOW * 100 >= lsn)
			continue;
		if (emit__put(&emitter, &(struct redoahead_ref)
					  {
						  .lsn = lsn,.spc = key.spc,.db = key.db,.rel = key.rel,
						  .block = key.block
					  }) == EMIT_OK)
			emitted++;
		if (emitter.head - emitter.published >= 8 && emit__publish(&emitter))
			abort();			/* this reader never sleeps */
		entry->lsn = lsn;
	}
	elapsed = now_ns() - start;

	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	printf("%.1f ns per reference offered; %ld offered, %llu emitted, %llu dropped\n",
		   (double) elapsed / references, references,
		   (unsigned long long) emitted, (unsigned long long) emitter.dropped);
	recent_blocks__destroy(&recent);
	free(blocks);
	free(ring);
	return 0;
}
