/*
 * position.c
 *		How far a startup process has replayed WAL, seen from outside.
 *
 * While a record is replayed, the global variable error_context_stack of the process
 * points to an entry whose argument is the WAL reader, which has the record's
 * position.  The reader's first members are the same in PostgreSQL 13 to 19; its
 * system identifier must be the cluster's, so that anything else is not taken for one.
 *
 * Where the process's memory may not be read (ptrace_scope of Yama, another user), a BPF
 * program reads it in the process itself.  Where that may not be loaded, a hot standby is
 * queried by SQL; and before it takes connections, the title of the process has the
 * segment.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/symbol.h"
#include "follow/position.h"
#include "wal/segments.h"

/* Entries of the stack that are examined: redo of a record may add some. */
#define STACK_DEPTH		4

/* Time between two reads of the title, us. */
#define TITLE_US		10000

/* An answer to a query counts for this time, us. */
#define SQL_STALE_US	1000000

/* If memory shows nothing for this time after the beginning, other methods are used, us. */
#define SILENT_US		1000000

/* Pause before the first retry to find the exact position, us; it doubles each time. */
#define FIRST_RETRY_US	10000000

/* An entry of the stack of error contexts. */
struct stack_entry
{
	uint64_t	previous;		/* address of the next one */
	uint64_t	callback;		/* a function */
	uint64_t	argument;		/* for it */
};

/* The beginning of a WAL reader. */
struct server_reader
{
	uint64_t	routine[3];		/* functions */
	uint64_t	system_identifier;	/* of the cluster, or 0 */
	uint64_t	private_data;	/* a pointer */
	uint64_t	record_lsn;		/* start of the last record read */
	uint64_t	end_lsn;		/* its end */
};

static const char *const method_names[POSITION_METHOD_COUNT] = {
	[POSITION_MEMORY] = "memory",
	[POSITION_BPF] = "bpf",
	[POSITION_SQL] = "sql",
	[POSITION_TITLE] = "title",
};

static bool
may_use(const struct position *position, enum position_method method)
{
	return position->forced < 0 || position->forced == (int) method;
}

/*
 * Prepare, with all rights that this process was started with; method is "auto" or the name
 * of the only one that may be used, attach is the attach method of BPF, NULL: any.
 */
void
position__create(struct position *position, const struct cluster *cluster, const char *method,
				 const char *attach)
{
	*position = (struct position) {.cluster = cluster,.forced = -1,.method = -1};
	for (int i = 0; i < POSITION_METHOD_COUNT; i++)
		if (strcmp(method, method_names[i]) == 0)
			position->forced = i;
	if (may_use(position, POSITION_BPF))
		position->probe_err = position_probe__open(&position->probe, cluster, attach);
}

/*
 * Start the child that reads the server's program.  Must be called before other threads
 * are started.  Returns 0 or -errno.
 */
int
position__start(struct position *position)
{
	return symbol__start(&position->finder, "error_context_stack");
}

void
position__destroy(struct position *position)
{
	position__end(position);
	position_probe__close(position->probe);
	confined__end(&position->finder);
}

/* Copy from the process's memory.  0 or -errno. */
static int
copy(const struct position *position, uint64_t address, void *out, size_t bytes)
{
	struct iovec local = {out, bytes};
	struct iovec remote = {(void *) (uintptr_t) address, bytes};
	ssize_t		n = process_vm_readv(position->startup, &local, 1, &remote, 1, 0);

	return n == (ssize_t) bytes ? 0 : n < 0 ? -errno : -EFAULT;
}

/* Log why the memory of the process cannot be read. */
static void
report_memory(int err)
{
	log_info("cannot read the memory of the startup process: %s; to follow each record, set sysctl "
			 "kernel.yama.ptrace_scope to 0, or give this program CAP_SYS_PTRACE, and restart it",
			 strerror(-err));
}

/* Read the memory of the process from now on.  Returns false after a message. */
static bool
begin_memory(struct position *position, uint64_t stack)
{
	uint64_t	top;
	int			err = copy(position, stack, &top, sizeof(top));

	if (err < 0)
		report_memory(err);
	else
		position->stack = stack;
	return err == 0;
}

/* Have BPF read it.  Logs why that is not possible. */
static void
begin_bpf(struct position *position, uint64_t stack)
{
	int			err = position->probe_err;

	if (err == 0)
		err = position_probe__begin(position->probe, position->startup, stack,
									position->system_identifier);
	position->attached = err == 0;
	if (err < 0)
		log_info("cannot follow redo by BPF: %s; %s", strerror(-err),
				 err == -EPERM || err == -EACCES ?
				 "start this program as root, or as the owner with CAP_BPF and CAP_PERFMON" :
				 "--verbose shows the kernel's messages");
}

/*
 * Find what the exact methods need, and begin one of them.  Where the program's file could
 * not be read in time, for the device is busy, that is tried again later.
 */
static void
begin_exact(struct position *position)
{
	uint64_t	stack;
	int			err;

	/* It has ended if it was not in time before. */
	if (position->finder.child == 0)
		(void) position__start(position);
	err = symbol__find(&position->finder, position->startup, &stack);
	if (err == -ETIMEDOUT || err == -EPROTO)
	{
		log_info("cannot find error_context_stack in the startup process: %s; trying again in %u s",
				 strerror(-err), (unsigned) (position->pause_us / 1000000));
		position->retry_us = clock__now_us() + position->pause_us;
		position->pause_us *= 2;
	}
	else if (err < 0)
		log_info("cannot find error_context_stack in the startup process: %s%s", strerror(-err),
				 err == -ESRCH ? "" : "; use a server whose program has dynamic symbols, or give this "
				 "program CAP_SYS_PTRACE");
	else if (!may_use(position, POSITION_MEMORY) || !begin_memory(position, stack))
	{
		if (may_use(position, POSITION_BPF))
			begin_bpf(position, stack);
	}
}

/* A startup process has been found, whose redo begins at redo_lsn. */
void
position__begin(struct position *position, pid_t startup, uint64_t system_identifier,
				uint32_t segment_bytes, uint64_t redo_lsn)
{
	position->startup = startup;
	position->system_identifier = system_identifier;
	position->segment_bytes = segment_bytes;
	position->redo_lsn = redo_lsn;
	position->lsn = position->stack = 0;
	position->begin_us = position->sql_us = 0;
	position->method = -1;
	position->retry_us = 0;
	position->pause_us = FIRST_RETRY_US;
	query__begin(&position->query);
	if (may_use(position, POSITION_MEMORY) || may_use(position, POSITION_BPF))
		begin_exact(position);
}

/* It has ended. */
void
position__end(struct position *position)
{
	query__end(&position->query);
	position_probe__end(position->probe);
	position->attached = false;
	position->startup = 0;
	position->stack = 0;
	position->reader = position->idle_lsn = 0;
}

/*
 * The last record that was read, which is being replayed, will be or has been; its end, if none
 * has been read since the last call: then redo waits for WAL, or is paused.
 */
static uint64_t
from_reader(struct position *position)
{
	struct server_reader reader;
	uint64_t	last = position->idle_lsn;

	position->idle_lsn = 0;
	if (position->reader == 0 ||
		copy(position, position->reader, &reader, sizeof(reader)) < 0 ||
		reader.system_identifier != position->system_identifier)
		return 0;
	position->idle_lsn = reader.end_lsn;
	return reader.end_lsn == last ? last : reader.record_lsn;
}

/*
 * The kernel does not allow to read the memory any more, because ptrace_scope was raised.  The
 * other methods go on from the last position.
 */
static void
end_memory(struct position *position)
{
	uint64_t	stack = position->stack;

	report_memory(-EPERM);
	position->stack = 0;
	position->method = -1;
	if (may_use(position, POSITION_BPF))
		begin_bpf(position, stack);
}

/* From the process's memory: 0 if the position cannot be seen now. */
static uint64_t
from_memory(struct position *position)
{
	struct server_reader reader;
	struct stack_entry entry;
	uint64_t	address;
	int			err = copy(position, position->stack, &address, sizeof(address));

	if (err == -EPERM)
		end_memory(position);
	if (err < 0)
		return 0;
	for (int depth = 0; depth < STACK_DEPTH && address != 0; depth++)
	{
		if (copy(position, address, &entry, sizeof(entry)) < 0)
			return 0;
		if (copy(position, entry.argument, &reader, sizeof(reader)) == 0 &&
			reader.system_identifier == position->system_identifier &&
			reader.end_lsn > reader.record_lsn)
		{
			position->reader = entry.argument;
			position->idle_lsn = 0;
			return reader.record_lsn;
		}
		address = entry.previous;
	}
	/* Between two records, as most of the time on a standby that keeps up. */
	return from_reader(position);
}

/*
 * The segment that the process reads, from its title, which ends with the segment's name.
 * False if it has none.
 */
bool
position__segment(const struct position *position, uint32_t *timeline, uint64_t *segment)
{
	char		title[256];
	char		path[64];
	size_t		length;
	FILE	   *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int) position->startup);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	length = fread(title, 1, sizeof(title) - 1, file);
	fclose(file);
	title[length] = '\0';
	length = strlen(title);
	while (length > 0 && title[length - 1] == ' ')
		title[--length] = '\0';
	return length >= WAL_SEGMENT_NAME_LENGTH &&
		wal_segments__parse(title + length - WAL_SEGMENT_NAME_LENGTH, position->segment_bytes,
							timeline, segment);
}

/* Take a position, which never goes backwards; of equal ones, that of the better method. */
static void
take(struct position *position, uint64_t lsn, enum position_method method)
{
	if (lsn < position->lsn || (lsn == position->lsn && (int) method >= position->method))
		return;
	position->lsn = lsn;
	if (position->method != (int) method)
		log_info("following redo by %s", method_names[method]);
	position->method = method;
}

/* Take the positions of the methods that are less exact than memory and BPF. */
static void
read_others(struct position *position, uint64_t now_us)
{
	uint32_t	timeline;
	uint64_t	segment;
	uint64_t	lsn = 0;

	if (may_use(position, POSITION_SQL))
		lsn = query__position(&position->query, position->cluster, now_us);
	if (lsn != 0)
	{
		position->sql_us = now_us;
		take(position, lsn, POSITION_SQL);
	}
	if (may_use(position, POSITION_TITLE) && now_us - position->sql_us >= SQL_STALE_US &&
		now_us - position->title_us >= TITLE_US)
	{
		position->title_us = now_us;
		if (position__segment(position, &timeline, &segment))
		{
			lsn = segment * position->segment_bytes;
			/* Redo began at redo_lsn, not where its segment begins. */
			take(position, lsn < position->redo_lsn ? position->redo_lsn : lsn, POSITION_TITLE);
		}
	}
}

/*
 * The start of the record that is being replayed, as far as it can be seen; 0 if it has
 * never been.  To be called often.
 */
uint64_t
position__read(struct position *position, uint64_t now_us)
{
	bool		exact = position->method == POSITION_MEMORY || position->method == POSITION_BPF;

	if (position->begin_us == 0)
		position->begin_us = now_us;
	if (position->retry_us != 0 && now_us >= position->retry_us)
	{
		position->retry_us = 0;
		begin_exact(position);
	}
	if (position->stack != 0)
		take(position, from_memory(position), POSITION_MEMORY);
	else if (position->attached)
		take(position, position_probe__lsn(position->probe), POSITION_BPF);
	/* BPF knows the position once redo has read a block; memory may be of another layout. */
	if (exact)
		query__leave(&position->query, now_us);
	else if (position->stack == 0 || now_us - position->begin_us >= SILENT_US)
		read_others(position, now_us);
	return position->lsn;
}

/* Is the position that of the record being replayed, or of a query, not only that of a segment? */
bool
position__is_exact(const struct position *position)
{
	return position->lsn != 0 && position->method >= 0 && position->method != POSITION_TITLE;
}
