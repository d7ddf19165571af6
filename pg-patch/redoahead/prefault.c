/*
 * prefault.c
 *		Allocates the memory of shared buffers ahead of redo.
 *
 * A freshly started server's shared buffers have no memory yet.  The startup
 * process pays for each of their pages with a page fault, in which the kernel
 * allocates and clears a page; at the speed of a prefetched recovery that is a
 * quarter of its time.  Buffers are used in the order of their numbers as long as
 * there are free ones, so the next ones are known:
 *
 * - a background worker has the kernel allocate them, a bounded way ahead, in huge
 *   pages if it may;
 * - the startup process maps the next few in one system call.
 *
 * The worker runs at most redoahead.prefault ahead of redo, pauses while little
 * memory is available, and exits when recovery ends, or when it has had nothing to
 * do for IDLE_MS: a standby needs the slot for other workers.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/pg_shmem.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

#include "common/available.h"
#include "prefault.h"
#include "settings.h"
#include "worker.h"

/* Linux 5.14 */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* Buffers that the startup process maps, and the worker allocates, at once. */
#define CHUNK_BUFFERS	(4 * 1024 * 1024 / BLCKSZ)

/* The startup process maps the next chunk this many buffers before its end. */
#define MARGIN_BUFFERS	(CHUNK_BUFFERS / 4)

/* The worker pauses while less memory than this is available, bytes. */
#define MIN_AVAILABLE	(512 * 1024 * 1024)

/*
 * Buffers between two checks of how much memory is available.  A check takes as long as
 * populating half a chunk.
 */
#define CHECK_BUFFERS	(16 * CHUNK_BUFFERS)

/*
 * The worker exits if redo comes to no further chunk for so long, in ms, also while memory
 * is short.  If redo goes on, it is slow enough to allocate buffers itself.
 */
#define IDLE_MS			10000

/* Time between two checks for the end of recovery while there is nothing to do, in ms. */
#define WAIT_MS			1000

typedef struct PrefaultShared
{
	pg_atomic_uint32 wanted;	/* buffers that should have memory */
	Latch	   *latch;			/* the worker's, NULL before it runs */
} PrefaultShared;

static PrefaultShared *shared;

PGDLLEXPORT void redoahead_prefault_main(Datum arg);

/* Shared memory that prefault__shmem_init() takes, bytes. */
Size
prefault__shmem_size(void)
{
	return MAXALIGN(sizeof(PrefaultShared));
}

void
prefault__shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("redoahead prefault", sizeof(PrefaultShared), &found);
	if (!found)
	{
		pg_atomic_init_u32(&shared->wanted, 0);
		shared->latch = NULL;
	}
}

/*
 * Have the kernel allocate and map the memory of buffers [from, to).  Returns
 * false if it can't.
 *
 * MADV_POPULATE_WRITE goes page by page.  MADV_POPULATE_READ maps all pages
 * around that exist, 64 kB at a time, and in a shared mapping they are
 * writable all the same; it is the cheaper one for what another process has
 * allocated.
 */
static bool
populate(int from, int to, int how)
{
	uintptr_t	page = sysconf(_SC_PAGESIZE);
	uintptr_t	start = (uintptr_t) BufferBlocks + (uintptr_t) from * BLCKSZ;
	uintptr_t	end = (uintptr_t) BufferBlocks + (uintptr_t) to * BLCKSZ;

	start -= start % page;
	end -= end % page;
	return madvise((void *) start, end - start, how) == 0 ||
		errno == EINTR || errno == EAGAIN;
}

/*
 * Start.  To be called in the startup process when a daemon is connected, and
 * harmless when called again.  If there is no free worker slot, the startup
 * process does it all, at some more cost.
 */
void
prefault__start(Prefault *p)
{
	/* With huge pages there is nothing to gain. */
	if (p->mapped > 0 || redoahead_prefault == 0 || !shared ||
		strcmp(GetConfigOption("huge_pages_status", false, false), "on") == 0)
		return;

	p->frontier = 0;
	prefault__advance(p, 0);
	if (p->mapped > 0)
		(void) worker__start("redoahead prefault", "redoahead_prefault_main");
}

/*
 * A buffer near or beyond the end of what is mapped has been used.  On a hot
 * standby others take buffers, too, so it may be far beyond.
 */
void
prefault__advance(Prefault *p, int buffer)
{
	int			lead = redoahead_prefault * (1024 / (BLCKSZ / 1024));
	int			start = Max(p->mapped, buffer - MARGIN_BUFFERS);
	int			end = Min(start + CHUNK_BUFFERS, NBuffers);
	Latch	   *latch;

	if (start >= end || !populate(start, end, MADV_POPULATE_READ))
	{
		p->frontier = INT_MAX;
		return;
	}
	p->mapped = end;
	p->frontier = end - MARGIN_BUFFERS;
	pg_atomic_write_u32(&shared->wanted, Min(end + lead, NBuffers));

	/* The worker may exit at any time; its latch stays valid. */
	latch = *(Latch *volatile *) &shared->latch;
	if (latch)
		SetLatch(latch);
}

/*
 * Where the kernel grants huge pages to shared memory on request (shmem_enabled in
 * /sys/kernel/mm/transparent_hugepage), have this process allocate them, unless
 * huge_pages is off.  Only the worker requests them: the kernel may compact memory
 * first, for which the startup process must not wait.
 */
static void
request_huge_pages(void)
{
	uintptr_t	page = sysconf(_SC_PAGESIZE);
	uintptr_t	start = TYPEALIGN(page, (uintptr_t) BufferBlocks);

	if (huge_pages != HUGE_PAGES_OFF)
		(void) madvise((void *) start, (uintptr_t) NBuffers * BLCKSZ, MADV_HUGEPAGE);
}

/* The background worker. */
void
redoahead_prefault_main(Datum arg)
{
	uint32		wait_event = WaitEventExtensionNew("RedoaheadPrefault");
	int			done = 0;
	int			affordable = 0; /* up to here, there was memory enough */
	int			idle_ms = 0;

	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	shared->latch = MyLatch;
	request_huge_pages();

	while (!ShutdownRequestPending && RecoveryInProgress() && done < NBuffers &&
		   idle_ms < IDLE_MS)
	{
		int			wanted = pg_atomic_read_u32(&shared->wanted);
		int			end = Min(done + CHUNK_BUFFERS, wanted);

		if (done < wanted && (done < affordable || available__bytes() >= MIN_AVAILABLE))
		{
			if (done >= affordable)
				affordable = done + CHECK_BUFFERS;
			if (!populate(done, end, MADV_POPULATE_WRITE))
				break;
			done = end;
			idle_ms = 0;
		}
		else
		{
			int			events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
										   WAIT_MS, wait_event);

			idle_ms = (events & WL_TIMEOUT) ? idle_ms + WAIT_MS : 0;
			ResetLatch(MyLatch);
		}
	}
	shared->latch = NULL;
	proc_exit(0);
}
