/*
 * sockfile.h
 *		A unix socket in the file system that one process alone listens on.
 */
#ifndef REDOAHEAD_SOURCE_SOCKFILE_H
#define REDOAHEAD_SOURCE_SOCKFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cluster/cluster.h"

/* What to listen on. */
struct sockfile_options
{
	const char *path;			/* if it is not absolute, relative to the data directory */
	const char *option;			/* that gives another path, for messages */
	int			type;			/* SOCK_SEQPACKET or SOCK_STREAM */
	mode_t		mode;			/* of the socket */
	gid_t		gid;			/* its group, (gid_t) -1: that of the process */
	bool		again;			/* the last attempt failed, and that was logged */
};

struct sockfile
{
	const struct cluster *cluster;	/* its path may be relative to that */
	int			dirfd;			/* the directory of the socket */
	int			lock_fd;		/* the lock file, locked */
	ino_t		inode;			/* the socket's */
	char		directory[PATH_MAX];	/* the path of that directory */
	char		name[64];		/* the socket's name in it */
	char		lock_name[72];  /* the lock file's name there */
};

int			sockfile__check(const struct cluster *cluster, const char *path);
int			sockfile__listen(struct sockfile *file, const struct cluster *cluster,
							 const struct sockfile_options *options);
bool		sockfile__is_ours(const struct sockfile *file);
void		sockfile__remove(struct sockfile *file);

#endif							/* REDOAHEAD_SOURCE_SOCKFILE_H */
