/*
 * timeline.c
 *		The file of --timeline: a line for each tenth of a second of a recovery.
 *
 * Fields are separated by tabs, and the first line names them.  A recovery that
 * follows another one begins at 0 seconds again.  For plots and for diagnosing
 * the controller.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "report/timeline.h"

struct timeline
{
	FILE	   *file;			/* flushed with each line */
};

/* Create or empty the file. */
int
timeline__open(struct timeline **timeline, const char *path)
{
	struct timeline *opened;
	int			err;

	opened = malloc(sizeof(*opened));
	if (opened == NULL)
		return -ENOMEM;
	opened->file = fopen(path, "we");
	if (opened->file == NULL)
	{
		err = -errno;
		free(opened);
		log_error("timeline file \"%s\" cannot be written: %s; give another one with --timeline",
				  path, strerror(-err));
		return err;
	}
	setlinebuf(opened->file);
	fputs("seconds\treplay_lsn\tqueued\tin_flight\tahead\tio_depth\treadahead_limit\tblocks_read\n",
		  opened->file);
	*timeline = opened;
	return 0;
}

/* Add one sample. */
void
timeline__add(struct timeline *timeline, const struct timeline_sample *sample)
{
	fprintf(timeline->file, "%" PRIu64 ".%03" PRIu64 "\t%X/%08X\t%u\t%u\t%u\t%u\t%u\t%" PRIu64 "\n",
			sample->at_us / 1000000, sample->at_us / 1000 % 1000,
			(unsigned) (sample->replay_lsn >> 32), (unsigned) sample->replay_lsn,
			sample->engine.queued, sample->engine.in_flight, sample->engine.ahead, sample->io_depth,
			sample->readahead_limit, sample->blocks_read);
}

/* Close the file; NULL is fine. */
void
timeline__close(struct timeline *timeline)
{
	bool		failed;

	if (timeline == NULL)
		return;
	failed = ferror(timeline->file) != 0;
	if (fclose(timeline->file) != 0 || failed)
		log_warning("timeline file is incomplete; make room for it");
	free(timeline);
}
