/*
 * writeback.c
 *		The write buffer of a drive: writes are confirmed when they are in it,
 *		and go to the platter later, in the order that suits the arm.
 *
 * It holds places, no data.  When to write is the spindle's decision.
 */
#include <string.h>

#include "request.h"
#include "writeback.h"

#define WRITEBACK_BYTES		(32 * 1024 * 1024)

/* The oldest so many writes compete for the arm. */
#define CHOICE_ENTRIES		64

/* Take a write in; false if there is no room. */
bool
writeback__add(struct writeback *buffer, uint64_t offset, uint32_t length)
{
	if (buffer->count == WRITEBACK_ENTRIES || buffer->bytes + length > WRITEBACK_BYTES)
		return false;
	buffer->entries[buffer->count++] = (struct writeback_entry) {
		.offset = offset,.length = length,.number = ++buffer->last_number,
	};
	buffer->bytes += length;
	return true;
}

/* Is all of a range in one write of the buffer? */
bool
writeback__covers(const struct writeback *buffer, uint64_t offset, uint32_t length)
{
	for (unsigned i = 0; i < buffer->count; i++)
	{
		const struct writeback_entry *entry = &buffer->entries[i];

		if (offset >= entry->offset && offset + length <= entry->offset + entry->length)
			return true;
	}
	return false;
}

bool
writeback__half_full(const struct writeback *buffer)
{
	return buffer->count > WRITEBACK_ENTRIES / 2 || buffer->bytes > WRITEBACK_BYTES / 2;
}

/* Are all writes up to this one on the platter? */
bool
writeback__settled(const struct writeback *buffer, uint64_t number)
{
	return buffer->count == 0 || buffer->entries[0].number > number;
}

/*
 * Which entry does the head reach first, of those up to write `last`?  The
 * buffer must hold one.
 */
unsigned
writeback__choose(const struct writeback *buffer, const struct geometry *geometry,
				  uint64_t track, uint64_t time, uint64_t last)
{
	unsigned	best = 0;
	double		best_wait = 0;

	for (unsigned i = 0; i < buffer->count && i < CHOICE_ENTRIES; i++)
	{
		double		seek;
		double		wait;

		if (buffer->entries[i].number > last)
			break;
		wait = geometry__access(geometry, track, buffer->entries[i].offset, time, &seek);
		if (i == 0 || wait < best_wait)
		{
			best = i;
			best_wait = wait;
		}
	}
	return best;
}

/* An entry is on the platter. */
void
writeback__remove(struct writeback *buffer, unsigned index)
{
	buffer->bytes -= buffer->entries[index].length;
	buffer->count--;
	memmove(&buffer->entries[index], &buffer->entries[index + 1],
			(buffer->count - index) * sizeof(buffer->entries[0]));
}
