/*
 * metrics_file.c
 *		The file of metrics that is kept up to date.
 *
 * At the end it is removed, so that nobody takes old metrics for new ones, unless
 * somebody else, another daemon for example, has replaced it.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "monitor/metrics_file.h"
#include "report/prometheus.h"

/* Time between two writes, us. */
#define INTERVAL_US		5000000

/* Is it time to write it? */
bool
metrics_file__is_due(const struct metrics_file *file, uint64_t now_us)
{
	return file->path != NULL &&
		(file->written_us == 0 || now_us - file->written_us >= INTERVAL_US);
}

/* Write the metrics of a status document. */
void
metrics_file__write(struct metrics_file *file, struct json_object *document, uint64_t now_us)
{
	struct stat st;
	int			err = prometheus__write_file(file->path, document);

	file->written_us = now_us;
	if (err < 0 && !file->failed)
		log_warning("metrics file \"%s\" cannot be written: %s; give another one with --metrics",
					file->path, strerror(-err));
	file->failed = err < 0;
	if (err == 0 && lstat(file->path, &st) == 0)
		file->inode = st.st_ino;
}

/* Remove it, if it is what was written last. */
void
metrics_file__remove(const struct metrics_file *file)
{
	struct stat st;

	if (file->path != NULL && file->inode != 0 && lstat(file->path, &st) == 0 &&
		st.st_ino == file->inode)
		(void) prometheus__remove_file(file->path);
}
