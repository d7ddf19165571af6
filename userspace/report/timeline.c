/*
 * timeline.c
 *		The file of --timeline: a line for each tenth of a second of a recovery.
 *
 * Fields are separated by tabs, and the first line names them.  A recovery that
 * follows another one begins at 0 seconds again.  For plots and for diagnosing
 * the controller.
 */
#include <inttypes.h>

#include "report/timeline.h"

/* Write the line that names the fields, and each line at once from then on. */
void
timeline__begin(FILE *file)
{
	setlinebuf(file);
	fputs("seconds\treplay_lsn\tqueued\tin_flight\tahead\tio_depth\tgap_bytes\treadahead_limit\tblocks_read\n",
		  file);
}

/* Add one sample. */
void
timeline__add(FILE *file, const struct timeline_sample *sample)
{
	fprintf(file, "%" PRIu64 ".%03" PRIu64 "\t%X/%08X\t%u\t%u\t%u\t%u\t%u\t%u\t%" PRIu64 "\n",
			sample->at_us / 1000000, sample->at_us / 1000 % 1000,
			(unsigned) (sample->replay_lsn >> 32), (unsigned) sample->replay_lsn,
			sample->engine.queued, sample->engine.in_flight, sample->engine.ahead, sample->io_depth,
			sample->gap_bytes, sample->readahead_limit, sample->blocks_read);
}
