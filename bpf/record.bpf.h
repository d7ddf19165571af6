/*
 * record.bpf.h
 *		Which WAL record the startup process is redoing, from its own memory.
 *
 * While a record is redone, the argument of the outermost entry of
 * error_context_stack, a variable that every server exports, is the WAL reader.
 * Its layout is that of PostgreSQL 15 to 18; each time it is checked that the
 * reader and its record have the same LSN.  A uprobe would cost the startup
 * process a trap for each record instead.
 */
#ifndef REDOAHEAD_BPF_RECORD_H
#define REDOAHEAD_BPF_RECORD_H

/* Entries of error_context_stack that are searched. */
#define MAX_CONTEXTS	4

/* ErrorContextCallback. */
struct pg_error_context
{
	__u64		previous;		/* the entry around it, NULL for the outermost */
	__u64		callback;		/* its function */
	__u64		arg;			/* the function's argument */
};

/* XLogReaderState, PostgreSQL 15 to 18, from its sixth word on. */
#define PG_READER_OFFSET	40

struct pg_reader
{
	__u64		read_ptr;		/* start of the last record read */
	__u64		skipped[7];		/* other positions */
	__u64		record;			/* DecodedXLogRecord */
};

/* DecodedXLogRecord, PostgreSQL 15 to 18, from its fourth word into its XLogRecord. */
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

/* Find the WAL reader; 0 if there is none. */
static __always_inline __u64
find_reader(void)
{
	struct pg_error_context context;
	__u64		entry = 0;

	if (bpf_probe_read_user(&entry, sizeof(entry), (void *) error_context_address) != 0)
		return 0;
	for (int i = 0; i < MAX_CONTEXTS && entry != 0; i++)
	{
		if (bpf_probe_read_user(&context, sizeof(context), (void *) entry) != 0)
			return 0;
		if (context.previous == 0)
			return context.arg;
		entry = context.previous;
	}
	return 0;
}

/* Add the record being redone to an event. */
static __always_inline void
note_record(struct trace_read *event)
{
	struct pg_reader reader;
	struct pg_record record;

	if (error_context_address == 0)
		return;
	if (known_reader == 0)
		known_reader = find_reader();
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
