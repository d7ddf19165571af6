/*
 * record.bpf.h
 *		Which WAL record the startup process is redoing, from its own memory.
 *
 * The layout of the WAL reader is that of PostgreSQL 15 to 19; each time it is
 * checked that the reader and its record have the same LSN.  A uprobe would cost
 * the startup process a trap for each record instead.
 */
#ifndef REDOAHEAD_BPF_RECORD_H
#define REDOAHEAD_BPF_RECORD_H

#include "reader.bpf.h"

/* XLogReaderState, PostgreSQL 15 to 19, from its sixth word on. */
#define PG_READER_OFFSET	40

struct pg_reader
{
	__u64		read_ptr;		/* start of the last record read */
	__u64		skipped[7];		/* other positions */
	__u64		record;			/* DecodedXLogRecord */
};

/* DecodedXLogRecord, PostgreSQL 15 to 19, from its fourth word into its XLogRecord. */
#define PG_RECORD_OFFSET	24

struct pg_record
{
	__u64		lsn;			/* start of the record */
	__u64		next_lsn;		/* start of the next one */
	__u32		total_length;	/* XLogRecord: length, bytes */
	__u32		xid;			/* transaction */
	__u64		previous_lsn;	/* start of the record before it */
	__u8		info;			/* flags of the resource manager */
	__u8		rmid;			/* resource manager */
};

/* Address of the WAL reader, which does not change during recovery. */
static __u64 known_reader = 0;

/* Add the record being redone to an event. */
static __always_inline void
note_record(struct trace_read *event)
{
	struct pg_reader reader;
	struct pg_record record;

	if (error_context_address == 0)
		return;
	if (known_reader == 0)
		known_reader = find_reader(error_context_address);
	if (known_reader == 0)
		return;
	if (bpf_probe_read_user(&reader, sizeof(reader),
							(void *) (known_reader + PG_READER_OFFSET)) != 0 ||
		bpf_probe_read_user(&record, sizeof(record),
							(void *) (reader.record + PG_RECORD_OFFSET)) != 0 ||
		record.lsn != reader.read_ptr)
	{
		known_reader = 0;
		return;
	}
	event->flags |= TRACE_READ_RECORD;
	event->rmid = record.rmid;
	event->lsn = record.lsn;
}

#endif							/* REDOAHEAD_BPF_RECORD_H */
