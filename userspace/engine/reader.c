/*
 * reader.c
 *		Reads runs of blocks: opens the file, submits the request, and counts the
 *		result of every block.
 *
 * Knows nothing of order, depth and redo; that is engine.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/reader.h"
#include "wal/page.h"

/* A request that took less has found its blocks in the page cache, or might have, us. */
#define CACHED_US	200

/* A run that is in flight. */
struct reader_request
{
	struct block_run run;		/* its blocks */
	struct fdcache_file *file;	/* pinned; NULL: not in flight */
	uint64_t	start_us;		/* time of the submission, us */
};

/* Make a reader of at most depth blocks at a time and so many descriptors. */
int
reader__create(struct reader *reader, const struct backend_ops *ops, int dirfd,
			   unsigned depth, unsigned files, FILE *block_log,
			   uint64_t (*clock) (void))
{
	int			err;

	*reader = (struct reader) {.ops = ops,.io_depth = depth,.block_log = block_log,.clock = clock};
	reader->requests = calloc(depth, sizeof(*reader->requests));
	reader->free_tokens = calloc(depth, sizeof(*reader->free_tokens));
	reader->done = calloc(depth, sizeof(*reader->done));
	if (reader->requests == NULL || reader->free_tokens == NULL || reader->done == NULL)
		err = -ENOMEM;
	else
		err = fdcache__create(&reader->files, dirfd, files);
	if (err == 0)
		err = ops->open(&reader->backend, depth);
	if (err < 0)
	{
		reader__destroy(reader);
		return err;
	}
	for (unsigned i = 0; i < depth; i++)
		reader->free_tokens[reader->free_count++] = depth - 1 - i;
	return 0;
}

/* Free a reader; requests in flight are not waited for. */
void
reader__destroy(struct reader *reader)
{
	if (reader->backend != NULL)
		reader->ops->close(reader->backend);
	fdcache__destroy(reader->files);
	free(reader->requests);
	free(reader->free_tokens);
	free(reader->done);
	*reader = (struct reader) {0};
}

/* A recovery begins: counters start at zero. */
void
reader__begin(struct reader *reader, const struct relpath_layout *layout)
{
	reader->layout = *layout;
	reader->max_run = BACKEND_MAX_BYTES / layout->block_size;
	if (reader->max_run > BLOCK_RUN_MAX)
		reader->max_run = BLOCK_RUN_MAX;
	if (reader->max_run > reader->io_depth)
		reader->max_run = reader->io_depth;
	reader->wal_lsn = 0;
	reader->now_us = reader->clock();
	memset(&reader->counters, 0, sizeof(reader->counters));
	relations__begin(&reader->relations);
}

static bool
is_wal(const struct block_run *run)
{
	return run->key.kind == RELPATH_KIND_WAL;
}

/*
 * The weight of a run while it is in flight, blocks.  A part of the WAL counts as one:
 * there are few, and all that follows waits for them.
 */
unsigned
reader__weight(const struct block_run *run)
{
	return is_wal(run) ? 1 : run->blocks;
}

/* The kind of a run's blocks, for the block log. */
static const char *
kind_name(const struct block_run *run)
{
	if (is_wal(run))
		return "wal";
	return run->key.kind == REDOAHEAD_KIND_SLRU ? "slru" : "relation";
}

/*
 * Write a part of a run to the block log, a line for each block that is finished, needed ones
 * or those in gaps.  Fields are separated by spaces: kind (relation, slru or wal), path below
 * the data directory, block in that file, LSN, result ("read", "gap", "resident", "stale",
 * "abandoned" or the reason of the failure as in the statistics), and the time since the
 * request, us.
 */
static void
log_blocks(struct reader *reader, const struct block_run *run, uint32_t first, uint32_t blocks,
		   bool needed, const char *result, uint64_t latency_us)
{
	char		path[RELPATH_BYTES];

	if (reader->block_log == NULL || blocks == 0)
		return;
	relpath__format(&run->key, &reader->layout, path);
	for (uint32_t i = first; i < first + blocks; i++)
	{
		if ((is_wal(run) || (run->needed >> i & 1)) != needed)
			continue;
		fprintf(reader->block_log, "%s %s %" PRIu32 " %X/%08X %s %" PRIu64 "\n",
				kind_name(run), path, run->block + i, (unsigned) (run->lsn >> 32),
				(unsigned) run->lsn, result, latency_us);
	}
}

/* Log a part of a run, without gaps. */
void
reader__log(struct reader *reader, const struct block_run *run, uint32_t first,
			uint32_t blocks, const char *result, uint64_t latency_us)
{
	log_blocks(reader, run, first, blocks, true, result, latency_us);
}

/* Count blocks of a run, from first to its end, as failed. */
static void
fail_blocks(struct reader *reader, const struct block_run *run, uint32_t first,
			enum fail_reason reason, uint64_t latency_us)
{
	uint32_t	blocks = block_run__needed(run, run->blocks) - block_run__needed(run, first);

	/* Missing WAL only means that it ends there. */
	if (!is_wal(run) && !run->evicted)
		reader->counters.blocks_failed[reason] += blocks;
	reader__log(reader, run, first, run->blocks - first, counters__fail_name(reason), latency_us);
}

/* Is the first page of a run that was read WAL of its position, not of a recycled segment? */
static bool
is_current(const struct reader *reader, const struct block_run *run, int fd)
{
	off_t		at = (off_t) run->block * reader->layout.block_size;
	struct wal_page_header header;
	struct iovec vector = {&header, sizeof(header)};
	ssize_t		n;

	/* The page is in the page cache now, unless completions are not real. */
	n = preadv2(fd, &vector, 1, at, RWF_NOWAIT);
	if (n < 0 && errno == EOPNOTSUPP && reader->ops->adaptive)
		n = pread(fd, &header, sizeof(header), at);
	return n == (ssize_t) sizeof(header) && header.lsn == run->lsn;
}

/* A request is complete: count its blocks and release what it holds. */
static void
complete(struct reader *reader, uint32_t token, int32_t result)
{
	struct reader_request *request = &reader->requests[token];
	const struct block_run *run = &request->run;
	struct fdcache_file *file = request->file;
	uint64_t	latency_us = reader->now_us - request->start_us;
	uint32_t	present = 0;	/* blocks from its start on */

	reader->in_flight -= reader__weight(run);
	if (latency_us >= CACHED_US)
	{
		reader->waits++;
		reader->waits_us += latency_us;
	}
	reader->free_tokens[reader->free_count++] = token;
	if (result > 0)
		present = (uint32_t) result / reader->layout.block_size;
	if (is_wal(run) && present > 0 && run->lsn > reader->wal_lsn &&
		is_current(reader, run, file->fd))
		reader->wal_lsn = run->lsn;
	fdcache__unpin(file);
	request->file = NULL;
	if (is_wal(run))
		reader->counters.wal_blocks_read += present;
	else if (run->evicted)
		reader->counters.blocks_reread += present;
	else
	{
		uint32_t	needed = block_run__needed(run, present);

		reader->counters.blocks_read += needed;
		reader->counters.gap_blocks_read += present - needed;
		reader->counters.latency_us += needed * latency_us;
	}
	reader__log(reader, run, 0, present, "read", latency_us);
	log_blocks(reader, run, 0, present, false, "gap", latency_us);

	if (result < 0)
		fail_blocks(reader, run, 0, counters__fail_reason(result), latency_us);
	else if (present < run->blocks)
		fail_blocks(reader, run, present, FAIL_BEYOND_EOF, latency_us);
}

/*
 * How much of a run is resident: an enum residency, -ENOENT if its file cannot be opened
 * now, another -errno if that cannot be reported for any run.
 */
int
reader__residency(struct reader *reader, const struct block_run *run)
{
	uint32_t	block_size = reader->layout.block_size;
	struct fdcache_file *file;
	int			found;

	if (fdcache__pin(reader->files, &run->key, &reader->layout, &file, &reader->counters) < 0)
		return -ENOENT;
	found = reader->ops->residency(file->fd, (uint64_t) run->block * block_size,
							   run->blocks * block_size);
	fdcache__unpin(file);
	return found == -ENOENT ? -EIO : found;
}

/* Remove a run that redo has reached from the page cache: it is in shared buffers. */
void
reader__release(struct reader *reader, const struct block_run *run)
{
	uint32_t	block_size = reader->layout.block_size;
	struct fdcache_file *file;

	/* A file that is not open has not been read recently. */
	file = fdcache__find(reader->files, &run->key);
	if (file == NULL)
		return;
	if (reader->ops->release(file->fd, (uint64_t) run->block * block_size,
							 run->blocks * block_size))
		reader->counters.blocks_released += run->blocks;
}

/*
 * Submit a run of at most max_run blocks; no more than io_depth blocks may be in flight.
 * Returns 1 if it was submitted, 0 if it cannot be read, and -EAGAIN if it must wait for
 * a completion.
 */
int
reader__submit(struct reader *reader, const struct block_run *run)
{
	uint32_t	block_size = reader->layout.block_size;
	struct reader_request *request;
	struct fdcache_file *file;
	uint32_t	token;
	int			err;

	err = fdcache__pin(reader->files, &run->key, &reader->layout, &file, &reader->counters);
	if (err == -EBUSY)
		return -EAGAIN;
	if (err < 0)
	{
		fail_blocks(reader, run, 0, counters__fail_reason(err), 0);
		return 0;
	}

	token = reader->free_tokens[reader->free_count - 1];
	err = reader->ops->queue(reader->backend, file->fd, (uint64_t) run->block * block_size,
							 run->blocks * block_size, token);
	if (err < 0)
	{
		fdcache__unpin(file);
		return -EAGAIN;
	}
	reader->free_count--;
	request = &reader->requests[token];
	request->run = *run;
	request->file = file;
	request->start_us = reader->clock();

	reader->in_flight += reader__weight(run);
	if (reader->in_flight > reader->counters.in_flight_max)
		reader->counters.in_flight_max = reader->in_flight;
	if (!is_wal(run) && !run->evicted)
	{
		uint32_t	needed = block_run__needed(run, run->blocks);

		reader->counters.requests++;
		reader->counters.requests_joined += run->blocks > 1;
		reader->counters.blocks_requested += needed;
		relations__add(&reader->relations, &run->key, needed);
	}
	return 1;
}

/*
 * Start what was submitted and fetch completions, waiting for "want" of them or wait_us.
 * Returns their number, or -errno if the backend is broken.
 */
int
reader__reap(struct reader *reader, unsigned want, unsigned wait_us)
{
	int			n;

	n = reader->ops->flush(reader->backend, want, wait_us, reader->done);
	if (n < 0)
		return n;
	reader->now_us = reader->clock();
	for (int i = 0; i < n; i++)
		complete(reader, reader->done[i].token, reader->done[i].result);
	return n;
}

/* The backend is given up: count the blocks in flight, of which no result will be known. */
void
reader__abandon(struct reader *reader)
{
	for (unsigned token = 0; token < reader->io_depth; token++)
	{
		const struct block_run *run = &reader->requests[token].run;

		if (reader->requests[token].file == NULL || is_wal(run) || run->evicted)
			continue;
		reader->counters.blocks_abandoned += block_run__needed(run, run->blocks);
		reader__log(reader, run, 0, run->blocks, "abandoned", 0);
	}
}
