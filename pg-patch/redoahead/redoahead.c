/*
 * redoahead.c
 *		Recovery prefetch by the redoahead daemon: the server's side.
 *
 * Defines settings and shared memory, and registers what the server calls during
 * recovery: the prefetch routine (routine.c) and the deferred checkpoint (defer.c).
 * Without a daemon, the server's own prefetching works as if this library weren't
 * loaded.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"

#include "decoder.h"
#include "defer.h"
#include "pg_compat.h"
#include "prefault.h"
#include "record_view.h"
#include "routine.h"
#include "settings.h"
#include "stats.h"

PG_MODULE_MAGIC_EXT(.name = "redoahead", .version = "1.0");

static shmem_request_hook_type prev_shmem_request_hook;
static shmem_startup_hook_type prev_shmem_startup_hook;

static void
request_shmem(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(stats__shmem_size() + prefault__shmem_size());
}

static void
startup_shmem(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	stats__shmem_init();
	prefault__shmem_init();
	decoder__shmem_init();
	LWLockRelease(AddinShmemInitLock);
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;

	settings__init();
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_shmem;
	if (!record_view__knows_wal())
	{
		ereport(LOG,
				(errmsg("redoahead does not know the WAL of PostgreSQL %s, and stays off", PG_VERSION),
				 errhint("Install a version of redoahead that is made for this release.")));
		return;
	}
	decoder__init();
	routine__register();
	defer__init();
}
