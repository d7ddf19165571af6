/*
 * fuzz_wal.c
 *		Fuzzes all that decodes WAL: pages and records, which blocks redo needs, history
 *		files and backup_label.
 *
 * The first byte of the input chooses which, the second one the major.  Records get
 * a valid CRC, or nothing after its check would ever be reached.  Nothing is kept from
 * one input to the next, so that an input that fails does so alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/recoverystart.h"
#include "common/implied.h"
#include "tests/unit/wal_writer.h"
#include "wal/needed_blocks.h"
#include "wal/timeline.h"

#define SEGMENTS		2
#define MAX_RECORDS		100000

/* Few, so that blocks are evicted from the cache. */
#define RECENT_BLOCKS	64

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool holds)
{
	if (!holds)
		abort();
}

/* Apply the rules to a record; what they return must be in order. */
static void
check_implied(struct implied_slru *known, const struct wal_record *record)
{
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
	n = implied__of_record(known, &viewed, true, refs);
	check(n >= 0 && n <= IMPLIED_MAX_PER_RECORD);
	for (int i = 0; i < n; i++)
		check(refs[i].lsn == record->lsn && (refs[i].flags & REDOAHEAD_REF_IMPLIED));
}

/* Is this a block that the record names, and that redo does not restore or initialize? */
static bool
is_named(const struct wal_record *record, const struct redoahead_ref *ref)
{
	for (unsigned i = 0; i < record->block_count; i++)
	{
		const struct wal_block *block = &record->blocks[i];

		if (block->spc == ref->spc && block->db == ref->db && block->rel == ref->rel &&
			block->block == ref->block && block->fork == ref->fork && !block->restored &&
			!block->will_init)
			return true;
	}
	return false;
}

/* The blocks that redo of the record needs; of some, redo has replayed what is before. */
static void
check_needed(struct needed_blocks *needed, const struct wal_record *record)
{
	struct redoahead_ref refs[NEEDED_BLOCKS_MAX];
	uint64_t	replay_lsn = record->info & 1 ? record->lsn : 0;
	unsigned	count = needed_blocks__of_record(needed, record, replay_lsn, refs);

	check(count <= NEEDED_BLOCKS_MAX);
	for (unsigned i = 0; i < count; i++)
	{
		check(refs[i].lsn == record->lsn);
		check((refs[i].flags & REDOAHEAD_REF_IMPLIED) ||
			  (refs[i].kind == REDOAHEAD_KIND_RELATION && is_named(record, &refs[i])));
	}
}

static void
create_needed(struct needed_blocks *needed)
{
	check(needed_blocks__create(needed, WRITER_BLOCK, true, RECENT_BLOCKS) == 0);
}

/* "needed" has the records before. */
static void
check_record(struct needed_blocks *needed, const struct wal_record *record)
{
	struct implied_slru known = needed->slru;
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
	check_implied(&known, record);
	check_needed(needed, record);
}

/* The bytes as one record. */
static void
fuzz_record(int major, const uint8_t *data, size_t size)
{
	struct wal_record record = {.lsn = WRITER_START};
	char		message[WAL_MESSAGE_BYTES] = "";

	if (wal_record__parse(&record, data, (uint32_t) size, wal_format__of_major(major), WRITER_BLOCK,
						  message) == 0)
	{
		struct needed_blocks needed;

		create_needed(&needed);
		check_record(&needed, &record);
		needed_blocks__destroy(&needed);
	}
	else
		check(message[0] != '\0');
}

/* Records with bodies from the input, and then bytes of the WAL changed. */
static void
fuzz_reader(int major, const uint8_t *data, size_t size)
{
	struct wal_writer writer;
	struct wal_reader reader;
	struct needed_blocks needed;
	unsigned	records = 0;

	create_needed(&needed);
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
		check_record(&needed, &reader.record);
	}
	check(reader.message[0] != '\0');
	(void) wal_reader__find(&reader, WRITER_START + 12345);
	wal_reader__destroy(&reader);
	needed_blocks__destroy(&needed);
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
				  history.entries[i].end >= history.entries[i - 1].end &&
				  history.entries[i].begin >= history.entries[i - 1].end);
		timeline__destroy(&history);
	}
	else
		check(message[0] != '\0');
	if (file != NULL)
		fclose(file);
}

/* The bytes as a backup_label; the first one chooses whether it begins as a server's. */
static void
fuzz_label(const uint8_t *data, size_t size)
{
	static const char line[] = "START WAL LOCATION: ";
	size_t		prefix = size > 0 && (data[0] & 1) ? strlen(line) : 0;
	char	   *text = malloc(prefix + size + 1);
	struct recoverystart start = {.lsn = 1,.timeline = 2};
	struct recoverystart again;

	memcpy(text, line, prefix);
	if (size > 0)
		memcpy(text + prefix, data + 1, size - 1);
	text[prefix + (size > 0 ? size - 1 : 0)] = '\0';
	recoverystart__parse(&start, text);
	check(strstr(text, line) != NULL || (start.lsn == 1 && start.timeline == 2));
	again = start;
	recoverystart__parse(&again, text);
	check(again.lsn == start.lsn && again.timeline == start.timeline);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int			major;

	if (size < 2)
		return 0;
	major = 13 + data[1] % 7;
	switch (data[0] % 4)
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
		case 3:
			fuzz_label(data + 2, size - 2);
			break;
	}
	return 0;
}
