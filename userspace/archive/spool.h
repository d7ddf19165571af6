/*
 * spool.h
 *		Segments that were fetched from the archive before the server requests them.
 */
#ifndef REDOAHEAD_ARCHIVE_SPOOL_H
#define REDOAHEAD_ARCHIVE_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct spool
{
	char		path[PATH_MAX]; /* of the directory */
	char		pgdata[PATH_MAX];	/* data directory, empty: not known */
	uint64_t	system_identifier;	/* of the cluster, 0: not known */
	char	   *recovery;		/* startup process and command that segments are for */
};

/* What is known of a segment's file. */
struct spool_segment
{
	uint32_t	timeline;		/* from its name */
	uint64_t	number;			/* position / size */
	uint32_t	bytes;			/* size of a segment */
};

int			spool__open(struct spool *spool, const char *wal_directory);
pid_t		spool__startup(const struct spool *spool);
int			spool__begin(struct spool *spool, const char *command);
void		spool__add(const struct spool *spool, const char *name, const char *fetched);
uint64_t	spool__room(const struct spool *spool, uint32_t segment_bytes);
int			spool__path(const struct spool *spool, const char *name, const char *suffix,
						char path[PATH_MAX]);
bool		spool__is_segment(const struct spool *spool, const char *path, const char *name,
							  struct spool_segment *segment);
int			spool__clear(const struct spool *spool);
int			spool__lock(const struct spool *spool, const char *name, uint64_t wait_us);
void		spool__unlock(const struct spool *spool, const char *name, int lock);
void		spool__wait(const struct spool *spool, const char *name);
int			spool__begin_fetching(const struct spool *spool);
bool		spool__is_idle(const struct spool *spool, uint64_t wait_us);
bool		spool__is_followed(const struct spool *spool);
void		spool__clean(const struct spool *spool, const struct spool_segment *present,
						 unsigned ahead);

#endif							/* REDOAHEAD_ARCHIVE_SPOOL_H */
