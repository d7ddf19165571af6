/*
 * test_decode_buffer.c
 *		Space for decoded records in the WAL reader's circular buffer, which goes
 *		back to its start early (patch 0019): the patched xlogreader.c, as a
 *		frontend has it.
 *
 * A record that is put where another one waits for redo would be replayed as
 * something else.  A buffer of which much is never used would be too short a
 * look-ahead, and one that is gone through from end to end, a slow one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "xlogreader.c"

#define BUFFER_BYTES	(2 * 1024 * 1024)

typedef struct Reader
{
	XLogReaderState state;
	char		buffer[BUFFER_BYTES];
	size_t		queued;			/* bytes in records that are queued */
	size_t		furthest;		/* end of what has been used of the buffer */
} Reader;

static Reader reader;

/* A different number each time. */
static uint64
next_number(void)
{
	static uint64 state = UINT64CONST(88172645463325252);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int
begin(void **state)
{
	(void) state;
	memset(&reader, 0, sizeof(reader));
	XLogReaderSetDecodeBuffer(&reader.state, reader.buffer, sizeof(reader.buffer));
	return 0;
}

/* Decode a record of so many bytes.  False if there is no space. */
static bool
decode(size_t xl_tot_len)
{
	XLogReaderState *state = &reader.state;
	DecodedXLogRecord *record = XLogReadRecordAlloc(state, xl_tot_len, false);
	size_t		size = MAXALIGN(offsetof(DecodedXLogRecord, blocks[0]) + xl_tot_len);

	if (!record)
		return false;
	assert_true((char *) record >= reader.buffer);
	assert_true((char *) record + DecodeXLogRecordRequiredSpace(xl_tot_len) <=
				reader.buffer + sizeof(reader.buffer));
	for (DecodedXLogRecord *other = state->decode_queue_head; other; other = other->next)
		assert_true((char *) other + other->size <= (char *) record ||
					(char *) record + size <= (char *) other);

	/* What XLogDecodeNextRecord() does. */
	record->size = size;
	record->next = NULL;
	if ((char *) record == state->decode_buffer)
		state->decode_buffer_tail = state->decode_buffer + size;
	else
		state->decode_buffer_tail += size;
	if (state->decode_queue_tail)
		state->decode_queue_tail->next = record;
	state->decode_queue_tail = record;
	if (!state->decode_queue_head)
		state->decode_queue_head = record;

	reader.queued += size;
	reader.furthest = Max(reader.furthest, (char *) record + size - reader.buffer);
	return true;
}

/* Replay the oldest record. */
static void
replay(void)
{
	XLogReaderState *state = &reader.state;

	reader.queued -= state->decode_queue_head->size;
	state->record = state->decode_queue_head;
	(void) XLogReleasePreviousRecord(state);
}

/* As recovery does with a look-ahead of so many bytes, for so many records. */
static void
run(size_t ahead, int records)
{
	for (int i = 0; i < records; i++)
	{
		while (reader.queued < ahead && decode(64 + next_number() % 512))
			;
		assert_non_null(reader.state.decode_queue_head);
		replay();
	}
}

static void
test_a_short_look_ahead_uses_little(void **state)
{
	const size_t aheads[] = {1, 1000, 10000, 100000};

	for (size_t i = 0; i < lengthof(aheads); i++)
	{
		size_t		most = 4 * aheads[i] + DECODE_BUFFER_SLACK + DEFAULT_DECODE_BUFFER_SIZE;

		begin(state);
		run(aheads[i], 50000);
		assert_in_range(reader.furthest, 0, most);
	}
}

static void
test_a_long_look_ahead_uses_all(void **state)
{
	(void) state;
	run(SIZE_MAX, 50000);
	assert_in_range(reader.furthest, BUFFER_BYTES - 16 * 1024, BUFFER_BYTES);
	while (decode(100))
		;
	assert_in_range(reader.queued, BUFFER_BYTES - 32 * 1024, BUFFER_BYTES);
}

/* Each time that much is to be read ahead after little, it is, when redo has gone round once. */
static void
test_a_look_ahead_can_grow_again(void **state)
{
	(void) state;
	for (int i = 0; i < 100; i++)
	{
		size_t		ahead = 1 + next_number() % (BUFFER_BYTES / 8);

		run(ahead, 1 + next_number() % 5000);
		run(BUFFER_BYTES / 2, 3 * BUFFER_BYTES / 300);
		assert_in_range(reader.queued, BUFFER_BYTES / 2 - 16 * 1024, BUFFER_BYTES);
		while (reader.queued > ahead)
			replay();
	}
}

/* decode() looks whether records overlap, or are beyond the buffer. */
static void
test_records_keep_apart(void **state)
{
	(void) state;
	for (int i = 0; i < 200000; i++)
	{
		uint64		number = next_number();

		if (number % 1000 == 0)
			while (reader.state.decode_queue_head)
				replay();
		else if (number % 16 < 8 + (i / 2000) % 3 - 1)
			(void) decode(number % 97 == 0 ? number % (BUFFER_BYTES / 4) : 24 + number % 8192);
		else if (reader.state.decode_queue_head)
			replay();
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_short_look_ahead_uses_little, begin),
		cmocka_unit_test_setup(test_a_long_look_ahead_uses_all, begin),
		cmocka_unit_test_setup(test_a_look_ahead_can_grow_again, begin),
		cmocka_unit_test_setup(test_records_keep_apart, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
