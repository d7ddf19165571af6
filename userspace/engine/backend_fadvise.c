/*
 * backend_fadvise.c
 *		A backend that submits reads with posix_fadvise(POSIX_FADV_WILLNEED).
 *
 * For kernels that refuse io_uring.  The kernel starts the read and does not report
 * its end, so that a range counts as read when it is submitted.  The queue of the
 * device is the only limit on what is in flight.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/residency.h"
#include "engine/backend.h"

struct backend
{
	unsigned	count;			/* completions not yet fetched */
	struct backend_completion done[];	/* requests made since the last flush, one per token */
};

static int
fadvise_open(struct backend **result, unsigned depth)
{
	struct backend *backend;

	backend = calloc(1, sizeof(*backend) + depth * sizeof(backend->done[0]));
	if (backend == NULL)
		return -ENOMEM;
	*result = backend;
	return 0;
}

static int
fadvise_queue(struct backend *backend, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	struct backend_completion *done;
	struct stat st;
	int			err;

	done = &backend->done[backend->count++];
	done->token = token;

	/* The kernel does not report a range beyond the end. */
	if (fstat(fd, &st) < 0)
	{
		done->result = -errno;
		return 0;
	}
	if (offset >= (uint64_t) st.st_size)
	{
		done->result = 0;
		return 0;
	}
	if (bytes > (uint64_t) st.st_size - offset)
		bytes = (uint32_t) ((uint64_t) st.st_size - offset);

	do
		err = posix_fadvise(fd, (off_t) offset, bytes, POSIX_FADV_WILLNEED);
	while (err == EINTR);
	done->result = err != 0 ? -err : (int32_t) bytes;
	return 0;
}

static int
fadvise_flush(struct backend *backend, unsigned want, unsigned wait_us,
			  struct backend_completion *done)
{
	unsigned	n = 0;

	/* Nothing is ever outstanding, hence nothing to wait for. */
	(void) want;
	(void) wait_us;
	while (backend->count > 0)
		done[n++] = backend->done[--backend->count];
	return (int) n;
}

static void
fadvise_close(struct backend *backend)
{
	free(backend);
}

const struct backend_ops backend_fadvise = {
	.name = "fadvise",
	.open = fadvise_open,
	.queue = fadvise_queue,
	.flush = fadvise_flush,
	.residency = residency__of,
	.release = residency__release,
	.close = fadvise_close,
};
