/*
 * defer.c
 *		Lets clients connect before the checkpoint after crash recovery.
 *
 * Recovery ends with a checkpoint, and nobody can connect before all that redo has
 * dirtied is on disk.  The server can do as when a standby is promoted: the
 * checkpoint begins when recovery has ended, beside the first clients.  If the server
 * crashes again before it is complete, recovery begins where the last one began.
 * The server does not call the hook where that would be wrong: see CanDeferCheckpoint().
 *
 * The WAL of that recovery takes its space until then.  A server that has crashed
 * because pg_wal was full must first recycle WAL, so it waits for the checkpoint.
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogprefetcher.h"

#include "defer.h"
#include "settings.h"

/*
 * Space that pg_wal must have for the WAL of clients until the checkpoint is
 * complete, MB.  To write 4 GB of buffers takes 4 s (scripts/bench prefetch), in
 * which clients can fill this at 250 MB/s.
 */
#define MIN_FREE_MB		1024

static defer_checkpoint_hook_type prev_defer_checkpoint_hook;

static bool
defer_checkpoint(void)
{
	struct statvfs fs;
	uint64		free_mb;

	if (prev_defer_checkpoint_hook && prev_defer_checkpoint_hook())
		return true;
	if (!redoahead_defer_checkpoint || redoahead_socket[0] == '\0' ||
		recovery_prefetch == RECOVERY_PREFETCH_OFF || statvfs(XLOGDIR, &fs) != 0)
		return false;
	free_mb = (uint64) fs.f_bavail * fs.f_frsize / (1024 * 1024);
	if (free_mb >= MIN_FREE_MB)
		return true;
	ereport(LOG,
			(errmsg("redoahead: the checkpoint is not deferred: the file system of \"%s\" has only " UINT64_FORMAT " MB of free space",
					XLOGDIR, free_mb),
			 errdetail("Clients can connect when it is complete; %d MB would be required to defer it.",
					   MIN_FREE_MB)));
	return false;
}

/* To be called when the library is loaded. */
void
defer__init(void)
{
	prev_defer_checkpoint_hook = defer_checkpoint_hook;
	defer_checkpoint_hook = defer_checkpoint;
}
