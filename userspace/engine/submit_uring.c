/*
 * submit_uring.c
 *		A sink that reads with io_uring into the page cache.
 *
 * A buffered read fills the page cache with whole pages but copies to user
 * space only the bytes that were asked for.  So a range is read from the last
 * byte of its first page to the first byte of its last: for one 8 kB block
 * two bytes, and still one 8 kB request to the device, because the descriptor
 * is advised POSIX_FADV_RANDOM.  What is copied goes to one buffer that all
 * requests overwrite; nobody looks at it.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/sink.h"

struct sink
{
	struct io_uring ring;		/* the only user is this thread */
	uint64_t	page_size;		/* bytes */
	unsigned	slots;			/* entries in reads */
	struct uring_read *reads;	/* by token */
	char	   *scratch;		/* SINK_MAX_BYTES of bytes nobody looks at */
};

/* What was asked for, and what was read for it. */
struct uring_read
{
	uint32_t	bytes;			/* length of the range, bytes */
	uint32_t	lead;			/* from its start to the first byte read */
	uint32_t	length;			/* bytes read */
};

/*
 * Ways to set up the ring, best first; a kernel that does not know a flag
 * answers EINVAL.  With DEFER_TASKRUN (Linux 6.1) completions are processed
 * only when we wait for them, with COOP_TASKRUN (5.19) only in system calls,
 * without either by interrupting us.
 */
static const unsigned setup_flags[] = {
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_CLAMP,
};

static int
uring_setup(struct sink *sink, unsigned entries)
{
	int			err = -EINVAL;

	for (size_t i = 0; err == -EINVAL &&
		 i < sizeof(setup_flags) / sizeof(setup_flags[0]); i++)
	{
		struct io_uring_params params = {.flags = setup_flags[i]};

		err = io_uring_queue_init_params(entries, &sink->ring, &params);
	}
	return err;
}

static void
uring_close(struct sink *sink)
{
	if (sink == NULL)
		return;
	if (sink->ring.ring_fd >= 0)
		io_uring_queue_exit(&sink->ring);
	free(sink->reads);
	free(sink->scratch);
	free(sink);
}

static int
uring_open(struct sink **result, unsigned depth)
{
	struct sink *sink;
	int			err;

	sink = calloc(1, sizeof(*sink));
	if (sink == NULL)
		return -ENOMEM;
	sink->ring.ring_fd = -1;
	sink->page_size = (uint64_t) sysconf(_SC_PAGESIZE);
	sink->slots = depth;
	sink->reads = calloc(depth, sizeof(*sink->reads));
	sink->scratch = malloc(SINK_MAX_BYTES);
	if (sink->reads == NULL || sink->scratch == NULL)
		err = -ENOMEM;
	else
		err = uring_setup(sink, depth);
	if (err < 0)
	{
		sink->ring.ring_fd = -1;
		uring_close(sink);
		return err;
	}
	*result = sink;
	return 0;
}

static int
uring_queue(struct sink *sink, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	struct uring_read *read = &sink->reads[token];
	struct io_uring_sqe *sqe;
	uint64_t	first;
	uint64_t	last;

	sqe = io_uring_get_sqe(&sink->ring);
	if (sqe == NULL)
		return -EAGAIN;

	first = (offset / sink->page_size + 1) * sink->page_size - 1;
	last = (offset + bytes - 1) / sink->page_size * sink->page_size;
	if (last < first)			/* all in one page */
		first = last = offset;
	read->bytes = bytes;
	read->lead = (uint32_t) (first - offset);
	read->length = (uint32_t) (last - first + 1);

	io_uring_prep_read(sqe, fd, sink->scratch, read->length, first);
	sqe->user_data = token;
	return 0;
}

/* Translate what was read into what of the range is there. */
static int32_t
range_result(const struct uring_read *read, int32_t result)
{
	if (result <= 0)
		return result;
	if ((uint32_t) result >= read->length)
		return (int32_t) read->bytes;
	return (int32_t) read->lead + result;
}

static int
uring_flush(struct sink *sink, unsigned want, unsigned wait_us,
			struct sink_completion *done, unsigned room)
{
	struct __kernel_timespec timeout = {.tv_nsec = (long long) wait_us * 1000};
	struct io_uring_cqe *cqe;
	unsigned	head;
	unsigned	seen = 0;
	unsigned	n = 0;
	int			err;

	if (want > 0 && wait_us > 0)
		err = io_uring_submit_and_wait_timeout(&sink->ring, &cqe, want, &timeout, NULL);
	else
		err = io_uring_submit_and_get_events(&sink->ring);

	/* Short of memory or interrupted: what is held back goes next time. */
	if (err < 0 && err != -ETIME && err != -EINTR &&
		err != -EAGAIN && err != -EBUSY && err != -ENOMEM)
		return err;

	io_uring_for_each_cqe(&sink->ring, head, cqe)
	{
		uint32_t	token = (uint32_t) cqe->user_data;

		if (n == room)
			break;
		seen++;
		/* On old kernels liburing waits with a timeout request of its own. */
		if (cqe->user_data >= sink->slots)
			continue;
		done[n].token = token;
		done[n].result = range_result(&sink->reads[token], cqe->res);
		n++;
	}
	io_uring_cq_advance(&sink->ring, seen);
	return (int) n;
}

const struct sink_ops sink_uring = {
	.name = "io_uring",
	.open = uring_open,
	.queue = uring_queue,
	.flush = uring_flush,
	.close = uring_close,
};
