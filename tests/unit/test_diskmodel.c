/*
 * test_diskmodel.c
 *		The disk model in a time of its own, without FUSE or data: its figures,
 *		its order, its caches.
 *
 * A benchmark on modelled disks is worth what these figures are.
 */
#include <stdlib.h>
#include <string.h>

#include "diskmodel/disk.h"
#include "unit.h"

#define DISK_BYTES	(6ULL << 30)
#define DATA_BYTES	(4ULL << 30)	/* what is in use of it, as on a disk in service */
#define BLOCK		8192
#define MAX_DEPTH	64
#define SECOND		1000000000ULL

/* One reader that keeps so many requests in flight. */
struct reader
{
	struct disk *disk;			/* what it reads */
	unsigned	depth;			/* requests in flight */
	uint32_t	length;			/* of each, bytes */
	bool		sequential;		/* one after the other, else at random */
	uint64_t	next;			/* where a sequential reader is, bytes */
	uint32_t	random;			/* state of its dice */
};

static struct disk *
make(enum disk_kind kind)
{
	struct disk *disk;

	assert_int_equal(disk__create(&disk, kind, DISK_BYTES, 0), 0);
	return disk;
}

/* A block of the part in use; the same ones in each run. */
static uint64_t
random_block(uint32_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 17;
	*random ^= *random << 5;
	return *random % (DATA_BYTES / BLOCK);
}

static void
submit_next(struct reader *reader, struct request *request, uint64_t now)
{
	*request = (struct request) {.kind = REQUEST_READ,.length = reader->length};
	if (reader->sequential)
	{
		request->offset = reader->next;
		reader->next += reader->length;
	}
	else
		request->offset = random_block(&reader->random) * BLOCK;
	disk__submit(reader->disk, request, now);
}

/* Read for so long; how many requests per second were done? */
static double
measure(struct reader *reader, uint64_t duration)
{
	struct request requests[MAX_DEPTH];
	uint64_t	now = SECOND;
	uint64_t	end = now + duration;
	unsigned	done = 0;

	reader->random = 42;
	for (unsigned i = 0; i < reader->depth; i++)
		submit_next(reader, &requests[i], now);
	while ((now = disk__due(reader->disk)) < end)
	{
		struct request *request = disk__take(reader->disk, now);

		if (request == NULL)
			continue;
		assert_true(request->done <= now);
		done++;
		submit_next(reader, request, now);
	}
	return done / ((double) duration / SECOND);
}

static double
random_reads(enum disk_kind kind, unsigned depth)
{
	struct reader reader = {.disk = make(kind),.depth = depth,.length = BLOCK};
	double		per_second = measure(&reader, 60 * SECOND);

	disk__destroy(reader.disk);
	print_message("# %s, random reads, depth %u: %.0f per second\n",
				  kind == DISK_HDD ? "hdd" : "gp3", depth, per_second);
	return per_second;
}

static void
assert_between(double value, double least, double most)
{
	if (value < least || value > most)
		fail_msg("%.1f is not between %.1f and %.1f", value, least, most);
}

/* The targets that the model as a whole is judged by, see scripts/bench disks. */
TEST(test_spindle_random_reads)
{
	assert_between(random_reads(DISK_HDD, 1), 70, 130);
	assert_between(random_reads(DISK_HDD, 32), 200, 250);
	assert_between(random_reads(DISK_HDD, 64), 200, 250);
}

TEST(test_spindle_sequential_reads)
{
	static const uint32_t lengths[] = {BLOCK, 128 * 1024, 256 * 1024};

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (unsigned depth = 1; depth <= 4; depth += 3)
		{
			struct reader reader = {
				.disk = make(DISK_HDD),.depth = depth,.length = lengths[i],.sequential = true,
			};
			double		rate = measure(&reader, 5 * SECOND) * lengths[i] / 1e6;

			print_message("# hdd, sequential reads of %u, depth %u: %.0f MB/s\n",
						  lengths[i], depth, rate);
			/* Single blocks pay for each command. */
			assert_between(rate, lengths[i] == BLOCK && depth == 1 ? 80 : 100, 165);
			disk__destroy(reader.disk);
		}
}

TEST(test_volume_reads)
{
	assert_between(random_reads(DISK_GP3, 1), 1240, 1251);
	assert_between(random_reads(DISK_GP3, 16), 2990, 3005);
	assert_between(random_reads(DISK_GP3, 64), 2990, 3005);
}

/* A pause of the reader is made up for, but only a short one. */
TEST(test_volume_credit)
{
	static const unsigned pauses_ms[] = {5, 10, 500};
	struct disk *disk = make(DISK_GP3);
	uint64_t	now = SECOND;

	for (unsigned pause = 0; pause < 3; pause++)
	{
		struct request requests[300];
		uint64_t	last = 0;

		for (unsigned i = 0; i < 300; i++)
		{
			requests[i] = (struct request) {.kind = REQUEST_READ,.length = BLOCK};
			disk__submit(disk, &requests[i], now);
		}
		for (unsigned i = 0; i < 300; i++)
		{
			struct request *request = disk__take(disk, NEVER - 1);

			assert_ptr_equal(request, &requests[i]);
			last = request->done;
		}
		/* 300 requests are worth 100 ms, of which 20 may have gone by */
		assert_between((double) (last - now), 79 * MILLISECOND, 101 * MILLISECOND);
		now = last + (uint64_t) (pauses_ms[pause] * MILLISECOND);
	}
	disk__destroy(disk);
}

/* A volume counts a large request as several, and has a limit of bytes, too. */
TEST(test_volume_bytes)
{
	struct reader reader = {
		.disk = make(DISK_GP3),.depth = 8,.length = 256 * 1024,.sequential = true,
	};

	assert_between(measure(&reader, 10 * SECOND) * reader.length / 1e6, 120, 126);
	disk__destroy(reader.disk);
}

/* Wait until a request is done, and return when. */
static uint64_t
wait_for(struct disk *disk, const struct request *wanted)
{
	uint64_t	now;

	while ((now = disk__due(disk)) != NEVER)
	{
		struct request *request = disk__take(disk, now);

		if (request == wanted)
			return request->done;
	}
	fail_msg("the request was never done");
	return 0;
}

/* Submit one request alone, and return how long it took. */
static uint64_t
time_of(struct disk *disk, enum request_kind kind, uint64_t offset, uint32_t length,
		uint64_t now)
{
	struct request request = {.kind = kind,.offset = offset,.length = length};

	disk__submit(disk, &request, now);
	return wait_for(disk, &request) - now;
}

TEST(test_cache_answers_at_once_until_reset)
{
	struct disk *disk = make(DISK_HDD);
	const uint64_t place = DISK_BYTES / 2;

	assert_true(time_of(disk, REQUEST_READ, place, BLOCK, SECOND) > MILLISECOND);
	assert_true(time_of(disk, REQUEST_READ, place, BLOCK, 2 * SECOND) < MILLISECOND);
	/* what comes next was read ahead */
	assert_true(time_of(disk, REQUEST_READ, place + 16 * BLOCK, BLOCK, 3 * SECOND) < MILLISECOND);
	assert_int_equal(disk__counters(disk)->cache_hits, 2);

	disk__reset(disk);
	assert_int_equal(disk__counters(disk)->cache_hits, 0);
	assert_true(time_of(disk, REQUEST_READ, place, BLOCK, 4 * SECOND + 1000) > 100 * MICROSECOND);
	assert_int_equal(disk__counters(disk)->cache_hits, 0);
	disk__destroy(disk);
}

/* A write drops what the cache has of its range, even if the write is done later. */
TEST(test_write_outdates_the_cache)
{
	struct disk *disk = make(DISK_HDD);

	time_of(disk, REQUEST_READ, 0, BLOCK, SECOND);
	time_of(disk, REQUEST_WRITE, 0, BLOCK, 2 * SECOND);
	time_of(disk, REQUEST_FLUSH, 0, 0, 3 * SECOND);
	time_of(disk, REQUEST_READ, DISK_BYTES / 2, BLOCK, 4 * SECOND);
	assert_true(time_of(disk, REQUEST_READ, 0, BLOCK, 5 * SECOND) > MILLISECOND);
	assert_int_equal(disk__counters(disk)->cache_hits, 0);
	disk__destroy(disk);
}

/* A write is confirmed at once; a flush waits for the platter. */
TEST(test_write_back)
{
	struct disk *disk = make(DISK_HDD);
	uint32_t	random = 7;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(time_of(disk, REQUEST_WRITE, random_block(&random) * BLOCK, BLOCK,
								 SECOND), 0);
	assert_true(time_of(disk, REQUEST_FLUSH, 0, 0, SECOND) > 100 * MILLISECOND);
	assert_int_equal(disk__counters(disk)->destaged, 100);
	assert_int_equal(time_of(disk, REQUEST_FLUSH, 0, 0, 100 * SECOND), 0);
	disk__destroy(disk);
}

/* When the buffer is full, writes wait, none is lost, and their order is kept. */
TEST(test_full_write_buffer)
{
	enum
	{
		WRITES = 3000
	};
	struct disk *disk = make(DISK_HDD);
	struct request *writes = calloc(WRITES, sizeof(*writes));
	uint32_t	random = 9;
	uint64_t	now = SECOND;
	unsigned	done = 0;

	for (unsigned i = 0; i < WRITES; i++)
	{
		writes[i] = (struct request) {
			.kind = REQUEST_WRITE,.offset = random_block(&random) * BLOCK,.length = BLOCK,
		};
		disk__submit(disk, &writes[i], now);
	}
	while ((now = disk__due(disk)) != NEVER)
	{
		struct request *request = disk__take(disk, now);

		if (request != NULL)
			assert_ptr_equal(request, &writes[done++]);
	}
	assert_int_equal(done, WRITES);
	assert_int_equal(disk__pending(disk), 0);
	assert_int_equal(disk__counters(disk)->destaged, WRITES);
	assert_true(writes[WRITES - 1].done > 5 * SECOND);
	free(writes);
	disk__destroy(disk);
}

/* A read at the far end is served although nearer ones keep coming. */
TEST(test_no_read_starves)
{
	struct disk *disk = make(DISK_HDD);
	struct request near[16];
	struct request far = {.kind = REQUEST_READ,.length = BLOCK,.offset = DISK_BYTES - BLOCK};
	uint32_t	random = 3;
	uint64_t	now = SECOND;
	uint64_t	waited = 0;

	for (unsigned i = 0; i < 16; i++)
	{
		near[i] = (struct request) {.kind = REQUEST_READ,.length = BLOCK};
		near[i].offset = random_block(&random) % 64 * 32 * BLOCK;
		disk__submit(disk, &near[i], now);
	}
	disk__submit(disk, &far, now);
	while (waited == 0 && now < 10 * SECOND)
	{
		struct request *request = disk__take(disk, now = disk__due(disk));

		if (request == &far)
			waited = request->done - SECOND;
		else if (request != NULL)
		{
			request->offset = random_block(&random) % 64 * 32 * BLOCK;
			disk__submit(disk, request, now);
		}
	}
	assert_between((double) waited, 1, 700 * MILLISECOND);
	disk__destroy(disk);
}

/* A model that is called late serves the next request from when it could have. */
TEST(test_late_callers_cost_nothing)
{
	uint64_t	last[2];

	for (unsigned late = 0; late < 2; late++)
	{
		struct disk *disk = make(DISK_HDD);
		struct request requests[20];
		uint32_t	random = 11;
		unsigned	done = 0;

		for (unsigned i = 0; i < 20; i++)
		{
			requests[i] = (struct request) {
				.kind = REQUEST_READ,.offset = random_block(&random) * BLOCK,.length = BLOCK,
			};
			disk__submit(disk, &requests[i], SECOND);
		}
		while (done < 20)
		{
			uint64_t	now = disk__due(disk) + (late ? (uint64_t) (3 * MILLISECOND) : 0);
			struct request *request;

			while ((request = disk__take(disk, now)) != NULL)
			{
				last[late] = request->done;
				done++;
			}
		}
		disk__destroy(disk);
	}
	assert_int_equal(last[0], last[1]);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
