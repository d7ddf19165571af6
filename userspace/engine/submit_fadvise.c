/*
 * submit_fadvise.c
 *		A sink that asks with posix_fadvise(POSIX_FADV_WILLNEED).
 *
 * For kernels that refuse io_uring.  The kernel starts the read and says
 * nothing about its end, so that a range counts as there once it is asked
 * for.  The queue of the device is the only limit on what is in flight.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/residency.h"
#include "engine/sink.h"

struct sink
{
	unsigned	count;			/* completions not yet fetched */
	unsigned	capacity;		/* room in done */
	struct sink_completion done[];	/* requests made since the last flush */
};

static int
fadvise_open(struct sink **result, unsigned depth)
{
	struct sink *sink;

	sink = calloc(1, sizeof(*sink) + depth * sizeof(sink->done[0]));
	if (sink == NULL)
		return -ENOMEM;
	sink->capacity = depth;
	*result = sink;
	return 0;
}

static int
fadvise_queue(struct sink *sink, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	struct sink_completion *done;
	struct stat st;
	int			err;

	if (sink->count == sink->capacity)
		return -EAGAIN;
	done = &sink->done[sink->count++];
	done->token = token;

	/* The kernel says nothing about a range beyond the end: look first. */
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
fadvise_flush(struct sink *sink, unsigned want, unsigned wait_us,
			  struct sink_completion *done)
{
	unsigned	n = 0;

	/* Nothing is ever outstanding, hence nothing to wait for. */
	(void) want;
	(void) wait_us;
	while (sink->count > 0)
		done[n++] = sink->done[--sink->count];
	return (int) n;
}

static void
fadvise_close(struct sink *sink)
{
	free(sink);
}

const struct sink_ops sink_fadvise = {
	.name = "fadvise",
	.open = fadvise_open,
	.queue = fadvise_queue,
	.flush = fadvise_flush,
	.finds = residency__of,
	.release = residency__release,
	.close = fadvise_close,
};
