/*
 * metrics_file.h
 *		The file of metrics that is kept up to date.
 */
#ifndef REDOAHEAD_MONITOR_METRICS_FILE_H
#define REDOAHEAD_MONITOR_METRICS_FILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct metrics_file
{
	const char *path;			/* NULL: there is none */
	uint64_t	written_us;		/* time of the last attempt to write it, us; 0: none yet */
	ino_t		inode;			/* of what was written last, 0: nothing */
	bool		failed;			/* the last attempt failed, and that was logged */
};

bool		metrics_file__is_due(const struct metrics_file *file, uint64_t now_us);
void		metrics_file__write(struct metrics_file *file, struct json_object *document,
								uint64_t now_us);
void		metrics_file__remove(const struct metrics_file *file);

#endif							/* REDOAHEAD_MONITOR_METRICS_FILE_H */
