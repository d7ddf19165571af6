/*
 * cluster.h
 *		A PostgreSQL data directory.
 */
#ifndef REDOAHEAD_CLUSTER_CLUSTER_H
#define REDOAHEAD_CLUSTER_CLUSTER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Majors whose file layout is known. */
#define CLUSTER_MIN_MAJOR	13
#define CLUSTER_MAX_MAJOR	19

/* Room for the reason why a directory cannot be opened, bytes. */
#define CLUSTER_MESSAGE_BYTES	(PATH_MAX + 256)

struct cluster
{
	int			dirfd;			/* the data directory */
	char		path[PATH_MAX]; /* absolute path, for messages */
	dev_t		device;			/* device of the data directory */
	ino_t		inode;			/* inode of the data directory */
	uid_t		uid;			/* its owner */
	gid_t		gid;			/* its group */
	mode_t		mode;			/* its mode, when it was opened */
	int			major;			/* from PG_VERSION when it was opened */
};

int			cluster__try(struct cluster *cluster, const char *path,
						 char message[CLUSTER_MESSAGE_BYTES]);
int			cluster__open(struct cluster *cluster, const char *path);
void		cluster__close(struct cluster *cluster);
bool		cluster__is_at(const struct cluster *cluster, const char *path);
int			cluster__check_owner(const struct cluster *cluster);
int			cluster__become_owner(const struct cluster *cluster);
int			cluster__open_file(const struct cluster *cluster, const char *name);
int			cluster__read_file(const struct cluster *cluster, const char *name, void *data,
							   size_t size);
int			cluster__major(const struct cluster *cluster);
int			cluster__system_identifier(const struct cluster *cluster,
									   uint64_t *identifier);

#endif							/* REDOAHEAD_CLUSTER_CLUSTER_H */
