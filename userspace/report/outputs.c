/*
 * outputs.c
 *		The files that a command which prefetches keeps: block log, timeline, statistics.
 *
 * The first two stay open and are opened anew on request; the statistics file is
 * replaced each time.  None of them that cannot be written ends the command.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/textfile.h"
#include "report/outputs.h"
#include "report/timeline.h"

/* Open those that the user wants.  Returns 0, or -errno after a message. */
int
outputs__open(struct outputs *outputs, const char *block_log, const char *timeline,
			  const char *statistics)
{
	int			err = 0;

	*outputs = (struct outputs)
	{
		.block_log_path = block_log,.timeline_path = timeline,.statistics_path = statistics
	};
	if (block_log != NULL)
		err = textfile__open(&outputs->block_log, block_log, "--block-log");
	if (err == 0 && timeline != NULL)
		err = textfile__open(&outputs->timeline, timeline, "--timeline");
	if (err == 0 && timeline != NULL)
		timeline__begin(outputs->timeline);
	return err;
}

void
outputs__close(struct outputs *outputs)
{
	textfile__close(outputs->timeline, "--timeline");
	textfile__close(outputs->block_log, "--block-log");
	outputs->timeline = outputs->block_log = NULL;
}

/* Open them anew, after they were renamed for example. */
void
outputs__reopen(struct outputs *outputs)
{
	struct stat st;

	if (outputs->block_log != NULL)
		textfile__reopen(outputs->block_log, outputs->block_log_path, "--block-log");
	if (outputs->timeline == NULL)
		return;
	textfile__reopen(outputs->timeline, outputs->timeline_path, "--timeline");
	if (fstat(fileno(outputs->timeline), &st) == 0 && st.st_size == 0)
		timeline__begin(outputs->timeline);
}

/* A recovery has ended: report what it could not write. */
void
outputs__report(const struct outputs *outputs)
{
	textfile__report(outputs->timeline, "--timeline");
	textfile__report(outputs->block_log, "--block-log");
}

/* Write the statistics file, if there is one. */
void
outputs__write_statistics(struct outputs *outputs, const struct statistics *statistics,
						  uint64_t now_us)
{
	int			err;

	outputs->statistics_us = now_us;
	if (outputs->statistics_path == NULL)
		return;
	err = statistics__write(outputs->statistics_path, statistics);
	if (err < 0 && !outputs->statistics_failed)
		log_warning("statistics file \"%s\" cannot be written: %s; give another one with --stats",
					outputs->statistics_path, strerror(-err));
	outputs->statistics_failed = err < 0;
}

/* Add a line to the timeline of a recovery that began at begin_us, if it is time. */
void
outputs__add_sample(struct outputs *outputs, struct engine *engine, uint64_t replay_lsn,
					uint64_t begin_us, uint64_t now_us)
{
	const struct control *control = engine__control(engine);
	struct timeline_sample sample;

	if (outputs->timeline == NULL || now_us - outputs->sample_us < TIMELINE_US)
		return;
	outputs->sample_us = now_us;
	sample = (struct timeline_sample)
	{
		.at_us = now_us - begin_us,.replay_lsn = replay_lsn,
			.engine = engine__state(engine),.io_depth = control->io_depth,
			.gap_bytes = control->gap_bytes,.readahead_limit = control->readahead_limit,
			.blocks_read = engine__counters(engine)->blocks_read,
	};
	timeline__add(outputs->timeline, &sample);
}
