/*
 * record.bpf.h
 *		Which WAL record the startup process is redoing, from its own memory.
 *
 * While a record is redone, the outermost entry of error_context_stack, a
 * variable that every server exports, is the one whose argument is the WAL
 * reader.  That has been so for long, and so has been the form of the reader
 * since PostgreSQL 15; whether it is so in this server is checked each time:
 * the reader and its record must tell the same LSN.  A uprobe would cost the
 * startup process a trap for each record instead.
 */
#ifndef REDOAHEAD_BPF_RECORD_H
#define REDOAHEAD_BPF_RECORD_H

/* Entries of error_context_stack that are looked at. */
#define MAX_CONTEXTS	4

/* ErrorContextCallback. */
struct pg_error_context
{
	__u64		previous;		/* the entry around it, NULL for the outermost */
	__u64		callback;		/* its function */
	__u64		arg;			/* the function's argument */
};

/* XLogReaderState, PostgreSQL 15 to 18. */
struct pg_reader
{
	__u64		skipped[5];		/* routines, system identifier, private data */
	__u64		read_ptr;		/* start of the last record read */
	__u64		skipped2[7];	/* other positions */
	__u64		record;			/* DecodedXLogRecord */
};

/* DecodedXLogRecord, PostgreSQL 15 to 18, to the end of its XLogRecord. */
struct pg_record
{
	__u64		skipped[3];		/* size, oversized, next */
	__u64		lsn;			/* start of the record */
	__u64		next_lsn;		/* start of the next one */
	__u32		total_length;	/* XLogRecord: length, bytes */
	__u32		xid;			/* transaction */
	__u64		previous_lsn;	/* start of the record before it */
	__u8		info;			/* what is to be done */
	__u8		rmid;			/* resource manager */
};

/* The outermost entry of the stack, as last time. */
static __u64 known_context = 0;
static __u64 known_reader = 0;

/* The WAL reader, 0 if there is none. */
static __always_inline __u64
find_reader(void)
{
	struct pg_error_context context;
	__u64		entry = 0;

	if (bpf_probe_read_user(&entry, sizeof(entry), (void *) error_context_address) != 0 ||
		entry == 0)
		return 0;
	if (entry == known_context)
		return known_reader;
	for (int i = 0; i < MAX_CONTEXTS; i++)
	{
		if (bpf_probe_read_user(&context, sizeof(context), (void *) entry) != 0)
			return 0;
		if (context.previous == 0)
		{
			/* Entries inside of it come and go at other places. */
			if (i == 0)
			{
				known_context = entry;
				known_reader = context.arg;
			}
			return context.arg;
		}
		entry = context.previous;
	}
	return 0;
}

/* Note in an event what is being redone. */
static __always_inline void
note_record(struct trace_read *event)
{
	struct pg_reader reader;
	struct pg_record record;
	__u64		address;

	if (error_context_address == 0)
		return;
	address = find_reader();
	if (address == 0 ||
		bpf_probe_read_user(&reader, sizeof(reader), (void *) address) != 0 ||
		bpf_probe_read_user(&record, sizeof(record), (void *) reader.record) != 0 ||
		record.lsn != reader.read_ptr)
	{
		known_context = 0;
		return;
	}
	event->flags |= TRACE_READ_RECORD;
	event->rmid = record.rmid;
	event->lsn = record.lsn;
}

#endif							/* REDOAHEAD_BPF_RECORD_H */
