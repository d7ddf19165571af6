/*
 * backend_uring.c
 *		A backend that reads into the page cache with io_uring.
 *
 * A buffered read fills the page cache with whole pages but copies to user space only
 * the bytes requested.  So a range is read from the last byte of its first page to the
 * first byte of its last: for one 8 kB block two bytes, and still one 8 kB request to
 * the device, because the descriptor is advised POSIX_FADV_RANDOM.  All requests
 * overwrite one buffer, which is not used.
 */
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/backend.h"
#include "engine/residency.h"

/*
 * Most threads of the kernel that read, where that takes threads.  They count among the
 * processes of the daemon's user, which is the server's.
 */
#define MAX_WORKERS		64

/* Pause when the kernel accepts no reads, us. */
#define SHORTAGE_WAIT_US	1000

/* A read in flight. */
struct uring_read
{
	uint32_t	bytes;			/* length of the range, bytes */
	uint32_t	lead;			/* from its start to the first byte read, bytes */
	uint32_t	length;			/* bytes read */
};

struct backend
{
	struct io_uring ring;		/* used by this thread only */
	uint64_t	page_size;		/* bytes */
	unsigned	io_depth;		/* entries in reads */
	unsigned	in_flight;		/* reads submitted and not complete */
	struct uring_read *reads;	/* by token */
};

/* All reads overwrite this, also those that are in flight when their ring is closed. */
static char scratch[BACKEND_MAX_BYTES];

/*
 * Flags of the ring, best first; a kernel that does not know a flag returns EINVAL.
 * With DEFER_TASKRUN (Linux 6.1) completions are processed only when we wait for them,
 * with COOP_TASKRUN (5.19) only in system calls, without either by interrupting us.
 */
static const unsigned setup_flags[] = {
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_CLAMP,
};

static int
uring_setup(struct backend *backend)
{
	int			err = -EINVAL;

	for (size_t i = 0; err == -EINVAL &&
		 i < sizeof(setup_flags) / sizeof(setup_flags[0]); i++)
	{
		struct io_uring_params params = {.flags = setup_flags[i]};

		err = io_uring_queue_init_params(backend->io_depth, &backend->ring, &params);
	}
	/*
	 * Where the file system or the device has no reads without waiting, a thread of the kernel
	 * does each of them.  By default there are at most four for each CPU.  0 keeps another limit.
	 */
	if (err == 0)
		(void) io_uring_register_iowq_max_workers(&backend->ring, (unsigned[2]) {MAX_WORKERS, 0});
	return err;
}

static void
uring_close(struct backend *backend)
{
	if (backend == NULL)
		return;
	if (backend->ring.ring_fd >= 0)
		io_uring_queue_exit(&backend->ring);
	free(backend->reads);
	free(backend);
}

static int
uring_open(struct backend **result, unsigned io_depth)
{
	struct backend *backend;
	int			err;

	backend = calloc(1, sizeof(*backend));
	if (backend == NULL)
		return -ENOMEM;
	backend->ring.ring_fd = -1;
	backend->page_size = (uint64_t) sysconf(_SC_PAGESIZE);
	backend->io_depth = io_depth;
	backend->reads = calloc(io_depth, sizeof(*backend->reads));
	if (backend->reads == NULL)
		err = -ENOMEM;
	else
		err = uring_setup(backend);
	if (err < 0)
	{
		backend->ring.ring_fd = -1;
		uring_close(backend);
		return err;
	}
	*result = backend;
	return 0;
}

static int
uring_queue(struct backend *backend, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	struct uring_read *read = &backend->reads[token];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&backend->ring);
	uint64_t	first = (offset / backend->page_size + 1) * backend->page_size - 1;
	uint64_t	last = (offset + bytes - 1) / backend->page_size * backend->page_size;

	if (sqe == NULL)
		return -EAGAIN;
	if (last < first)			/* all in one page */
		first = last = offset;
	read->bytes = bytes;
	read->lead = (uint32_t) (first - offset);
	read->length = (uint32_t) (last - first + 1);
	io_uring_prep_read(sqe, fd, scratch, read->length, first);
	sqe->user_data = token;
	backend->in_flight++;
	return 0;
}

/* How much of the range is resident, from how much was read. */
static int32_t
range_result(const struct uring_read *read, int32_t result)
{
	if (result <= 0)
		return result;
	if ((uint32_t) result >= read->length)
		return (int32_t) read->bytes;
	return (int32_t) read->lead + result;
}

/* Fetch the completions that have arrived; returns their number. */
static unsigned
collect(struct backend *backend, struct backend_completion *done)
{
	struct io_uring_cqe *cqe;
	unsigned	head;
	unsigned	seen = 0;
	unsigned	n = 0;

	io_uring_for_each_cqe(&backend->ring, head, cqe)
	{
		seen++;
		/* On old kernels liburing waits with a timeout request of its own. */
		if (cqe->user_data >= backend->io_depth)
			continue;
		done[n].token = (uint32_t) cqe->user_data;
		done[n].result = range_result(&backend->reads[cqe->user_data], cqe->res);
		n++;
	}
	io_uring_cq_advance(&backend->ring, seen);
	backend->in_flight -= n;
	return n;
}

/* Memory pressure: it accepts what is held back next time. */
static bool
is_shortage(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -ENOMEM;
}

static bool
is_temporary(int err)
{
	return err >= 0 || err == -ETIME || err == -EINTR || is_shortage(err);
}

static int
uring_flush(struct backend *backend, unsigned want, unsigned wait_us,
			struct backend_completion *done)
{
	struct __kernel_timespec timeout = {.tv_nsec = (long long) wait_us * 1000};
	struct io_uring_cqe *cqe;
	unsigned	n;
	int			err = 0;

	if (io_uring_sq_ready(&backend->ring) > 0 || wait_us == 0)
	{
		err = io_uring_submit_and_get_events(&backend->ring);
		if (!is_temporary(err))
			return err;
	}
	n = collect(backend, done);
	if (n > 0 || want == 0)
		return (int) n;
	if (is_shortage(err))
	{
		/* The kernel would not even wait. */
		nanosleep(&(struct timespec) {.tv_nsec = SHORTAGE_WAIT_US * 1000}, NULL);
		return 0;
	}
	if (wait_us == 0 || backend->in_flight == 0)
		return 0;
	if (want > backend->in_flight)
		want = backend->in_flight;
	err = io_uring_submit_and_wait_timeout(&backend->ring, &cqe, want, &timeout, NULL);
	if (!is_temporary(err))
		return err;
	return (int) collect(backend, done);
}

const struct backend_ops backend_uring = {
	.name = "io_uring",
	.adaptive = true,
	.open = uring_open,
	.queue = uring_queue,
	.flush = uring_flush,
	.residency = residency__of,
	.release = residency__release,
	.close = uring_close,
};
