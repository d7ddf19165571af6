/*
 * readahead.c
 *		The read cache of a drive: what it read, and what it reads ahead while
 *		no request needs the arm.
 *
 * Without it a sequential reader loses a revolution between two requests,
 * because the next one comes just after its first sector has gone by.
 *
 * Simplified: a head that stopped because it was far enough ahead resumes at once
 * when more is requested, without waiting for its sector.
 */
#include <string.h>

#include "readahead.h"

/* How far the head reads on, and how much of a segment is kept, bytes. */
#define READAHEAD_BYTES		(1024 * 1024)
#define SEGMENT_BYTES		(2 * 1024 * 1024)

/* Where the head is at `time`, if it is reading ahead. */
static uint64_t
head_at(const struct readahead *cache, const struct geometry *geometry, uint64_t time)
{
	uint64_t	head = cache->segments[cache->newest].end;
	uint64_t	limit = cache->demanded + READAHEAD_BYTES;

	if (time > cache->since)
		head += (uint64_t) ((double) (time - cache->since) * geometry->stream_rate);
	if (limit > cache->disk_bytes)
		limit = cache->disk_bytes;
	return head < limit ? head : limit;
}

/* Drop the oldest part of a segment that has grown too long. */
static void
bound_segment(struct readahead_segment *segment)
{
	if (segment->end - segment->start > SEGMENT_BYTES)
		segment->start = segment->end - SEGMENT_BYTES;
}

void
readahead__reset(struct readahead *cache, uint64_t disk_bytes)
{
	memset(cache, 0, sizeof(*cache));
	cache->disk_bytes = disk_bytes;
}

/*
 * Is the range in the cache at `time`, or on its way there?  If so, *there is
 * when all of it is.
 */
bool
readahead__lookup(const struct readahead *cache, const struct geometry *geometry,
				  uint64_t offset, uint32_t length, uint64_t time, uint64_t *there)
{
	uint64_t	end = offset + length;

	if (cache->reading && offset >= cache->segments[cache->newest].start)
	{
		uint64_t	head = head_at(cache, geometry, time);

		if (end <= head)
		{
			*there = time;
			return true;
		}
		if (offset <= head && end <= cache->demanded + READAHEAD_BYTES)
		{
			*there = time + (uint64_t) ((double) (end - head) / geometry->stream_rate);
			return true;
		}
	}
	for (unsigned i = 0; i < READAHEAD_SEGMENTS; i++)
		if (offset >= cache->segments[i].start && end <= cache->segments[i].end)
		{
			*there = time;
			return true;
		}
	return false;
}

/*
 * A range that lookup found is being served, and is there at `there`: if it
 * belongs to what is being read ahead, the head may now go further.
 */
void
readahead__use(struct readahead *cache, const struct geometry *geometry,
			   uint64_t offset, uint32_t length, uint64_t there)
{
	struct readahead_segment *segment = &cache->segments[cache->newest];
	uint64_t	end = offset + length;

	if (!cache->reading || offset < segment->start || end <= cache->demanded)
		return;
	segment->end = head_at(cache, geometry, there);
	if (segment->end < end)
		segment->end = end;
	cache->since = there;
	cache->demanded = end;
	bound_segment(segment);
}

/* The head has read a range at `time`, which the cache did not have, and reads on. */
void
readahead__start(struct readahead *cache, uint64_t offset, uint32_t length, uint64_t time)
{
	cache->newest = (cache->newest + 1) % READAHEAD_SEGMENTS;
	cache->segments[cache->newest] = (struct readahead_segment) {offset, offset + length};
	cache->reading = true;
	cache->since = time;
	cache->demanded = offset + length;
}

/*
 * Stop reading ahead, because the arm is needed elsewhere.  Returns true and the
 * position of the head if it was reading ahead.
 */
bool
readahead__stop(struct readahead *cache, const struct geometry *geometry, uint64_t time,
				uint64_t *head)
{
	struct readahead_segment *segment = &cache->segments[cache->newest];

	if (!cache->reading)
		return false;
	segment->end = head_at(cache, geometry, time);
	bound_segment(segment);
	cache->reading = false;
	*head = segment->end;
	return true;
}

/* A range was written: segments that have some of it are out of date. */
void
readahead__forget(struct readahead *cache, uint64_t offset, uint32_t length)
{
	for (unsigned i = 0; i < READAHEAD_SEGMENTS; i++)
	{
		struct readahead_segment *segment = &cache->segments[i];
		uint64_t	end = segment->end;

		if (cache->reading && i == cache->newest && end < cache->demanded + READAHEAD_BYTES)
			end = cache->demanded + READAHEAD_BYTES;
		if (offset >= end || offset + length <= segment->start)
			continue;
		if (i == cache->newest)
			cache->reading = false;
		*segment = (struct readahead_segment) {0, 0};
	}
}
