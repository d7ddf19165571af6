/*
 * fuzz_wal.c
 *		Fuzzes all that reads WAL: pages and records, the rules of implied blocks, and
 *		history files.
 *
 * The first byte of the input chooses which, the second one the major.  Records get
 * their CRC made right, or nothing behind it would ever be reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/implied.h"
#include "tests/unit/wal_writer.h"
#include "wal/timeline.h"

#define SEGMENTS		2
#define MAX_RECORDS		100000

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool holds)
{
	if (!holds)
		abort();
}

/* Apply the rules to a record; what they return must be in order. */
static void
check_implied(const struct wal_record *record)
{
	static struct implied_slru known;
	struct redoahead_ref refs[IMPLIED_MAX_PER_RECORD];
	struct implied_layout layout;
	struct implied_record viewed = {
		.format = record->format,.layout = &layout,.lsn = record->lsn,.xid = record->xid,
		.rmid = record->rmid,.info = record->info,.data = record->data,
		.data_len = record->data_len,
	};
	int			n;

	implied__layout(&layout, WRITER_BLOCK);
	for (unsigned i = 0; i < record->block_count; i++)
	{
		const struct wal_block *block = &record->blocks[i];

		n = implied__of_block(&viewed, &(struct implied_block)
							  {
								  .rel = block->rel,.block = block->block,.fork = block->fork,
									  .id = block->id,.restored = block->restored
							  }, refs);
		check(n >= 0 && n <= IMPLIED_MAX_PER_BLOCK);
	}
	n = implied__of_record(&known, &viewed, true, refs);
	check(n >= 0 && n <= IMPLIED_MAX_PER_RECORD);
	for (int i = 0; i < n; i++)
		check(refs[i].lsn == record->lsn && (refs[i].flags & REDOAHEAD_REF_IMPLIED));
}

static void
check_record(const struct wal_record *record)
{
	unsigned char sum = 0;

	check(record->block_count <= WAL_RECORD_MAX_BLOCKS);
	for (unsigned i = 0; i < record->block_count; i++)
	{
		check(record->blocks[i].fork < REDOAHEAD_FORK_COUNT);
		check(i == 0 || record->blocks[i].id > record->blocks[i - 1].id);
		check(record->blocks[i].has_image || !record->blocks[i].restored);
	}
	for (uint32_t i = 0; i < record->data_len; i++)
		sum ^= ((const unsigned char *) record->data)[i];
	__asm__ volatile("" : : "r"(sum));
	check_implied(record);
}

/* The bytes as one record. */
static void
fuzz_record(int major, const uint8_t *data, size_t size)
{
	struct wal_record record = {0};
	char		message[WAL_MESSAGE_BYTES] = "";

	if (wal_record__parse(&record, data, (uint32_t) size, wal_format__of_major(major), WRITER_BLOCK,
						  message) == 0)
		check_record(&record);
	else
		check(message[0] != '\0');
}

/* Records with bodies from the input, and then bytes of the WAL changed. */
static void
fuzz_reader(int major, const uint8_t *data, size_t size)
{
	struct wal_writer writer;
	struct wal_reader reader;
	unsigned	records = 0;

	writer_begin(&writer, SEGMENTS);
	writer.magic = wal_format__of_major(major)->page_magic;
	writer_open_reader(&writer, &reader);
	while (size > 8 && writer.end < WRITER_SEGMENT)
	{
		uint32_t	bytes = data[2] | (uint32_t) data[3] << 8;

		if (bytes > size - 4)
			bytes = (uint32_t) size - 4;
		if (data[1] & 0x80)
			break;
		(void) writer_add(&writer, data[0], data[1], data + 4, bytes);
		data += 4 + bytes;
		size -= 4 + bytes;
	}
	for (; size >= 5; data += 5, size -= 5)
	{
		uint32_t	at;

		memcpy(&at, data, sizeof(at));
		writer.wal[at % (writer.end + 1)] = data[4];
	}
	while (wal_reader__next(&reader) == WAL_READER_RECORD)
	{
		check(++records < MAX_RECORDS);
		check(reader.record.end_lsn > reader.record.lsn);
		check_record(&reader.record);
	}
	check(reader.message[0] != '\0');
	(void) wal_reader__find(&reader, WRITER_START + 12345);
	wal_reader__destroy(&reader);
	free(writer.wal);
}

static void
fuzz_history(const uint8_t *data, size_t size)
{
	struct timeline_history history;
	char		message[TIMELINE_MESSAGE_BYTES] = "";
	FILE	   *file = size > 0 ? fmemopen((void *) data, size, "r") : NULL;

	if (timeline__parse(&history, 1000, file, message) == 0)
	{
		check(history.count > 0 && history.entries[history.count - 1].timeline == 1000);
		for (unsigned i = 1; i < history.count; i++)
			check(history.entries[i].timeline > history.entries[i - 1].timeline &&
				  history.entries[i].begin >= history.entries[i - 1].begin);
		timeline__destroy(&history);
	}
	else
		check(message[0] != '\0');
	if (file != NULL)
		fclose(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int			major;

	if (size < 2)
		return 0;
	major = 13 + data[1] % 6;
	switch (data[0] % 3)
	{
		case 0:
			fuzz_record(major, data + 2, size - 2);
			break;
		case 1:
			fuzz_reader(major, data + 2, size - 2);
			break;
		case 2:
			fuzz_history(data + 2, size - 2);
			break;
	}
	return 0;
}
