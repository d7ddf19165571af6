/*
 * backing.c
 *		The files that hold what the modelled disks contain, one for each disk,
 *		sparse, read and written with io_uring past the page cache.
 *
 * Does not sync them: the disks live no longer than the model.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing.h"
#include "base/log.h"

#define RING_ENTRIES	4096

struct backing
{
	struct io_uring ring;		/* of all files */
	bool		unsubmitted;	/* there are entries that the kernel has not seen */
	unsigned	disks;			/* open files */
	int			files[];		/* one for each disk */
};

/* Open or make the file of one disk, without the page cache where that works. */
static int
open_file(const char *path, uint64_t bytes)
{
	int			fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, 0600);
	int			err;

	if (fd < 0 && errno == EINVAL)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t) bytes) != 0)
	{
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
backing__open(struct backing **backing, const char *directory, unsigned disks, uint64_t bytes)
{
	struct backing *opened = calloc(1, sizeof(*opened) + disks * sizeof(opened->files[0]));
	char		path[4096];
	int			err;

	if (opened == NULL)
		return -ENOMEM;
	err = io_uring_queue_init(RING_ENTRIES, &opened->ring, IORING_SETUP_CLAMP);
	if (err != 0)
	{
		log_error("could not set up io_uring: %s; the disk model cannot do without it, "
				  "see /proc/sys/kernel/io_uring_disabled", strerror(-err));
		free(opened);
		return err;
	}
	for (; opened->disks < disks; opened->disks++)
	{
		snprintf(path, sizeof(path), "%s/disk%u.img", directory, opened->disks);
		opened->files[opened->disks] = open_file(path, bytes);
		if (opened->files[opened->disks] < 0)
		{
			err = opened->files[opened->disks];
			log_error("could not make \"%s\": %s", path, strerror(-err));
			backing__close(opened);
			return err;
		}
	}
	*backing = opened;
	return 0;
}

void
backing__close(struct backing *backing)
{
	if (backing == NULL)
		return;
	io_uring_queue_exit(&backing->ring);
	for (unsigned i = 0; i < backing->disks; i++)
		close(backing->files[i]);
	free(backing);
}

/* Readable when there is something to reap. */
int
backing__poll_fd(const struct backing *backing)
{
	return backing->ring.ring_fd;
}

/* Read or write; the kernel need not see it before backing__submit. */
void
backing__start(struct backing *backing, unsigned disk, bool write, void *buffer,
			   uint32_t length, uint64_t offset, void *token)
{
	struct io_uring_sqe *sqe;

	while ((sqe = io_uring_get_sqe(&backing->ring)) == NULL)
		io_uring_submit(&backing->ring);
	if (write)
		io_uring_prep_write(sqe, backing->files[disk], buffer, length, offset);
	else
		io_uring_prep_read(sqe, backing->files[disk], buffer, length, offset);
	io_uring_sqe_set_data(sqe, token);
	backing->unsubmitted = true;
}

/* Show the kernel what was started.  If it cannot take all, the rest comes next time. */
void
backing__submit(struct backing *backing)
{
	if (backing->unsubmitted && io_uring_submit(&backing->ring) >= 0)
		backing->unsubmitted = io_uring_sq_ready(&backing->ring) > 0;
}

/* Take one completion: how many bytes, or -errno. */
bool
backing__reap(struct backing *backing, void **token, int *result)
{
	struct io_uring_cqe *cqe;

	if (io_uring_peek_cqe(&backing->ring, &cqe) != 0)
		return false;
	*token = io_uring_cqe_get_data(cqe);
	*result = cqe->res;
	io_uring_cqe_seen(&backing->ring, cqe);
	return true;
}
