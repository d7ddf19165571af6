/*
 * block_log.c
 *		The file of --block-log: a line for each block when it is finished.
 *
 * Fields are separated by spaces: kind (relation, slru or wal), path below the
 * data directory, block in that file, LSN, result ("read", "resident", "stale",
 * "abandoned" or the reason of the failure as in the statistics), and the time since the
 * request, us.
 * For tests and for diagnosis; it costs CPU time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/block_log.h"

struct block_log
{
	FILE	   *file;			/* buffered until block_log__flush */
};

/* Create or empty the file. */
int
block_log__open(struct block_log **result, const char *path)
{
	struct block_log *opened;
	int			err;

	opened = malloc(sizeof(*opened));
	if (opened == NULL)
		return -ENOMEM;
	opened->file = fopen(path, "we");
	if (opened->file == NULL)
	{
		err = -errno;
		free(opened);
		log_error("block log \"%s\" cannot be written: %s; give another one with --block-log",
				  path, strerror(-err));
		return err;
	}
	*result = opened;
	return 0;
}

/* Write one line. */
void
block_log__add(struct block_log *log, const char *kind, const char *path, uint32_t block,
			 uint64_t lsn, const char *result, uint64_t latency_us)
{
	fprintf(log->file, "%s %s %" PRIu32 " %X/%08X %s %" PRIu64 "\n",
			kind, path, block, (unsigned) (lsn >> 32), (unsigned) lsn, result, latency_us);
}

/* Flush the file; NULL is fine. */
void
block_log__flush(struct block_log *log)
{
	if (log != NULL)
		fflush(log->file);
}

/* Close the file; NULL is fine. */
void
block_log__close(struct block_log *log)
{
	if (log == NULL)
		return;
	if (fclose(log->file) != 0)
		log_warning("block log is incomplete: %s; make room for it", strerror(errno));
	free(log);
}
