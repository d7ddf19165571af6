/*
 * reader.bpf.h
 *		Finds the WAL reader of the startup process, in its own memory.
 *
 * While a record is redone, the argument of the outermost entry of
 * error_context_stack, a variable that every server exports, is the WAL reader.
 * Whether it is one is for the caller to check.
 */
#ifndef REDOAHEAD_BPF_READER_H
#define REDOAHEAD_BPF_READER_H

/* Entries of error_context_stack that are searched. */
#define MAX_CONTEXTS	4

/* ErrorContextCallback. */
struct pg_error_context
{
	__u64		previous;		/* the entry around it, NULL for the outermost */
	__u64		callback;		/* its function */
	__u64		arg;			/* the function's argument */
};

/* Find the WAL reader by the address of error_context_stack; 0 if there is none. */
static __always_inline __u64
find_reader(__u64 error_context_stack)
{
	struct pg_error_context context;
	__u64		entry = 0;

	if (bpf_probe_read_user(&entry, sizeof(entry), (void *) error_context_stack) != 0)
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

#endif							/* REDOAHEAD_BPF_READER_H */
