/*
 * submit_uring.c
 *		A backend that reads with io_uring into the page cache.
 *
 * A buffered read fills the page cache with whole pages but copies to user
 * space only the bytes that were asked for.  So a range is read from the last
 * byte of its first page to the first byte of its last: for one 8 kB block
 * two bytes, and still one 8 kB request to the device, because the descriptor
 * is advised POSIX_FADV_RANDOM.  What is copied goes to one buffer that all
 * requests overwrite; nobody looks at it.
 *
 * Even so a completion costs about a third of the CPU time of a read: it wakes
 * a task, looks the pages up again, and copies from cold memory.  With
 * RWF_NOWAIT a read starts the I/O and says at once that it would have to wait
 * (EAGAIN), and nothing more.  So reads form groups, and only the last one of
 * a group really waits: when it is there, the whole group counts as there.
 * The order within the plan makes the last the likeliest to be the last.
 *
 * EAGAIN does not prove that the I/O was started: a kernel or a file system
 * may refuse for other reasons.  So now and then a block that counts as there
 * is looked for, and read if it is not; where that happens often, groups are
 * given up.
 */
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/residency.h"
#include "engine/backend.h"
#include "base/log.h"

/* Most reads in a group; at least MIN_GROUPS groups make up the depth. */
#define MAX_GROUP		16
#define MIN_GROUPS		8

/*
 * One group in so many is looked after; judge after so many looks, and give up
 * groups when more than so many of them found nothing.  A busy device answers
 * out of order, so the first block of a group may well come after the last;
 * where no read is started without waiting, all looks find nothing.
 */
#define LOOK_EACH		32
#define LOOKS_TO_JUDGE	64
#define LOOKS_TO_GIVE_UP	56

/*
 * The first groups are all looked after, and so many half blocks are enough: where
 * the device's read-ahead is zero, a read starts one page only.
 */
#define FIRST_LOOKS		16
#define HALVES_TO_GIVE_UP	4

/* How long to rest when the kernel takes no reads, us. */
#define SHORTAGE_WAIT_US	1000

/* Longest read that may do without a completion: inside one block. */
#define NOWAIT_BYTES	2

#define NO_GROUP		UINT32_MAX

/* How a read was submitted. */
enum read_kind
{
	READ_NOWAIT,				/* starts the I/O only */
	READ_PLAIN,					/* completes when the data is there */
	READ_LOOK					/* finds out whether the data is there */
};

/* What was asked for, and how it is read. */
struct uring_read
{
	int			fd;				/* of the file */
	uint32_t	bytes;			/* length of the range, bytes */
	uint32_t	lead;			/* from its start to the first byte read */
	uint32_t	length;			/* bytes read */
	uint64_t	first;			/* file offset of the first byte read */
	enum read_kind kind;		/* how */
	uint32_t	group;			/* index of its group, or NO_GROUP */
};

/* Reads that complete together; its last read is a plain one. */
struct uring_group
{
	uint32_t	next_free;		/* next unused group */
	uint32_t	size;			/* reads in it */
	uint32_t	seen;			/* reads that the kernel answered */
	uint32_t	waiting;		/* of those, the ones that wait for the last */
	uint32_t	tokens[MAX_GROUP];	/* these */
};

struct backend
{
	struct io_uring ring;		/* the only user is this thread */
	uint64_t	page_size;		/* bytes */
	unsigned	slots;			/* entries in reads and groups */
	struct uring_read *reads;	/* by token */
	char	   *scratch;		/* BACKEND_MAX_BYTES of bytes nobody looks at */

	unsigned	group_size;		/* most reads in a group; 1: no groups */
	bool		no_groups;		/* they do not work here */
	struct uring_group *groups; /* slots of them */
	uint32_t	free_group;		/* chain of unused groups */
	uint32_t	open_group;		/* group that still takes reads, or NO_GROUP */
	struct io_uring_sqe *last_sqe;	/* the last read put into it */
	unsigned	plain_reads;	/* plain reads in flight */

	unsigned	groups_done;	/* groups that completed */
	unsigned	looks;			/* blocks looked for since the last judgement */
	unsigned	looks_failed;	/* of those, blocks that were not there */
	unsigned	halves;			/* of those, blocks whose first page was there */
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
uring_setup(struct backend *backend, unsigned entries)
{
	int			err = -EINVAL;

	for (size_t i = 0; err == -EINVAL &&
		 i < sizeof(setup_flags) / sizeof(setup_flags[0]); i++)
	{
		struct io_uring_params params = {.flags = setup_flags[i]};

		err = io_uring_queue_init_params(entries, &backend->ring, &params);
	}
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
	free(backend->groups);
	free(backend->scratch);
	free(backend);
}

/* Groups must not be so large that the device idles when one of them is done. */
static void
uring_set_io_depth(struct backend *backend, unsigned depth)
{
	unsigned	size = depth / MIN_GROUPS;

	if (size > MAX_GROUP)
		size = MAX_GROUP;
	if (size == 0 || backend->no_groups)
		size = 1;
	backend->group_size = size;
}

static int
uring_open(struct backend **result, unsigned depth)
{
	struct backend *backend;
	int			err;

	backend = calloc(1, sizeof(*backend));
	if (backend == NULL)
		return -ENOMEM;
	backend->ring.ring_fd = -1;
	backend->page_size = (uint64_t) sysconf(_SC_PAGESIZE);
	backend->slots = depth;
	backend->reads = calloc(depth, sizeof(*backend->reads));
	backend->groups = calloc(depth, sizeof(*backend->groups));
	backend->scratch = malloc(BACKEND_MAX_BYTES);
	if (backend->reads == NULL || backend->groups == NULL || backend->scratch == NULL)
		err = -ENOMEM;
	else
		err = uring_setup(backend, depth);
	if (err < 0)
	{
		backend->ring.ring_fd = -1;
		uring_close(backend);
		return err;
	}
	uring_set_io_depth(backend, depth);
	for (unsigned i = 0; i < depth; i++)
		backend->groups[i].next_free = i + 1 < depth ? i + 1 : NO_GROUP;
	backend->open_group = NO_GROUP;
	*result = backend;
	return 0;
}

/* Put a read into the submission queue, in the way its kind says. */
static struct io_uring_sqe *
push_read(struct backend *backend, uint32_t token)
{
	const struct uring_read *read = &backend->reads[token];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&backend->ring);

	if (sqe == NULL)
		return NULL;
	io_uring_prep_read(sqe, read->fd, backend->scratch, read->length, read->first);
	sqe->user_data = token;
	if (read->kind == READ_PLAIN)
		backend->plain_reads++;
	else
		sqe->rw_flags = RWF_NOWAIT;
	return sqe;
}

/* Make the last read of the open group the one that the group waits for. */
static void
close_group(struct backend *backend)
{
	struct uring_read *last;

	if (backend->open_group == NO_GROUP)
		return;
	last = &backend->reads[backend->last_sqe->user_data];
	if (last->kind == READ_NOWAIT)
	{
		backend->last_sqe->rw_flags = 0;
		last->kind = READ_PLAIN;
		backend->plain_reads++;
	}
	backend->open_group = NO_GROUP;
}

/* Put a read into the open group; a plain read, or the last one, closes it. */
static void
join_group(struct backend *backend, uint32_t token, struct io_uring_sqe *sqe)
{
	struct uring_group *group;

	if (backend->open_group == NO_GROUP)
	{
		backend->open_group = backend->free_group;
		group = &backend->groups[backend->open_group];
		backend->free_group = group->next_free;
		group->size = group->seen = group->waiting = 0;
	}
	group = &backend->groups[backend->open_group];
	backend->reads[token].group = backend->open_group;
	backend->last_sqe = sqe;
	if (++group->size >= backend->group_size || backend->reads[token].kind == READ_PLAIN)
		close_group(backend);
}

static int
uring_queue(struct backend *backend, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	struct uring_read *read = &backend->reads[token];
	struct io_uring_sqe *sqe;
	uint64_t	first;
	uint64_t	last;

	first = (offset / backend->page_size + 1) * backend->page_size - 1;
	last = (offset + bytes - 1) / backend->page_size * backend->page_size;
	if (last < first)			/* all in one page */
		first = last = offset;
	read->fd = fd;
	read->bytes = bytes;
	read->lead = (uint32_t) (first - offset);
	read->length = (uint32_t) (last - first + 1);
	read->first = first;
	read->kind = backend->group_size > 1 && read->length <= NOWAIT_BYTES ?
		READ_NOWAIT : READ_PLAIN;

	sqe = push_read(backend, token);
	if (sqe == NULL)
		return -EAGAIN;
	join_group(backend, token, sqe);
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

/*
 * Did a read that may not wait find less than all?  One byte of two is what it
 * finds when the first page is there and the second is on its way.
 */
static bool
would_wait(const struct uring_read *read, int32_t result)
{
	return result == -EAGAIN || (result > 0 && (uint32_t) result < read->length);
}

static const char no_nowait[] = "this file system does not start reads that may not wait";

/* Wait for each read from now on. */
static void
give_up_groups(struct backend *backend, const char *reason)
{
	if (backend->no_groups)
		return;
	backend->no_groups = true;
	backend->group_size = 1;
	log_info("%s; waiting for each read, which takes more CPU time", reason);
}

/* Submit a read again, on its own and in another way. */
static bool
read_again(struct backend *backend, uint32_t token, enum read_kind kind)
{
	backend->reads[token].kind = kind;
	backend->reads[token].group = NO_GROUP;
	return push_read(backend, token) != NULL;
}

/* A look was answered; returns true if the block must be read after all. */
static bool
judge(struct backend *backend, uint32_t token, int32_t result)
{
	bool		absent = would_wait(&backend->reads[token], result);

	backend->looks++;
	backend->looks_failed += absent;
	backend->halves += absent && result > 0;
	if (backend->halves >= HALVES_TO_GIVE_UP && backend->halves * 2 >= backend->looks_failed)
		give_up_groups(backend, "reads that may not wait start one page of each block only, as if "
					   "this device's read-ahead is zero (see blockdev --setra)");
	if (backend->looks == LOOKS_TO_JUDGE)
	{
		if (backend->looks_failed > LOOKS_TO_GIVE_UP)
			give_up_groups(backend, no_nowait);
		backend->looks = backend->looks_failed = backend->halves = 0;
	}
	return absent;
}

/* The last read of a group is there: so are those that wait for it. */
static unsigned
finish_group(struct backend *backend, uint32_t index, struct backend_completion *done)
{
	struct uring_group *group = &backend->groups[index];
	unsigned	first = 0;
	unsigned	n = 0;

	if (group->waiting > 0 &&
		(backend->groups_done++ % LOOK_EACH == 0 || backend->groups_done <= FIRST_LOOKS) &&
		read_again(backend, group->tokens[0], READ_LOOK))
		first = 1;
	for (unsigned i = first; i < group->waiting; i++)
	{
		done[n].token = group->tokens[i];
		done[n].result = (int32_t) backend->reads[group->tokens[i]].bytes;
		n++;
	}
	group->next_free = backend->free_group;
	backend->free_group = index;
	return n;
}

/* Must a read that was answered be done again, in the plain way? */
static bool
needs_plain(struct backend *backend, uint32_t token, int32_t result)
{
	switch (backend->reads[token].kind)
	{
		case READ_NOWAIT:
			/* What a file system says that has no such reads. */
			if (result != -EOPNOTSUPP)
				return false;
			give_up_groups(backend, no_nowait);
			return true;
		case READ_LOOK:
			return judge(backend, token, result);
		default:
			return false;
	}
}

/* The kernel answered a read; returns how many requests are done by that. */
static unsigned
answer(struct backend *backend, uint32_t token, int32_t result, struct backend_completion *done)
{
	struct uring_read *read = &backend->reads[token];
	uint32_t	index = read->group;
	unsigned	n = 0;

	if (read->kind == READ_PLAIN)
		backend->plain_reads--;

	if (read->kind == READ_NOWAIT && would_wait(read, result))
	{
		struct uring_group *group = &backend->groups[index];

		group->tokens[group->waiting++] = token;
	}
	else if (!needs_plain(backend, token, result) || !read_again(backend, token, READ_PLAIN))
	{
		done[n].token = token;
		done[n].result = range_result(read, result);
		n++;
	}

	if (index != NO_GROUP && ++backend->groups[index].seen == backend->groups[index].size)
		n += finish_group(backend, index, done + n);
	return n;
}

/* Fetch the answers that are there. */
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
		if (cqe->user_data < backend->slots)
			n += answer(backend, (uint32_t) cqe->user_data, cqe->res, done + n);
	}
	io_uring_cq_advance(&backend->ring, seen);
	return n;
}

/* Short of memory: what is held back goes next time. */
static bool
is_shortage(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -ENOMEM;
}

static bool
is_passing(int err)
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

	close_group(backend);
	if (io_uring_sq_ready(&backend->ring) > 0 || wait_us == 0)
	{
		err = io_uring_submit_and_get_events(&backend->ring);
		if (!is_passing(err))
			return err;
	}
	n = collect(backend, done);
	if (n > 0 || want == 0)
		return (int) n;
	if (is_shortage(err))
	{
		/* The kernel would not even wait: let time pass all the same. */
		nanosleep(&(struct timespec) {.tv_nsec = SHORTAGE_WAIT_US * 1000}, NULL);
		return 0;
	}
	if (wait_us == 0 || backend->plain_reads == 0)
		return 0;

	/* Only plain reads are answered later, each of them for its group. */
	want /= backend->group_size;
	if (want > backend->plain_reads)
		want = backend->plain_reads;
	if (want == 0)
		want = 1;
	err = io_uring_submit_and_wait_timeout(&backend->ring, &cqe, want, &timeout, NULL);
	if (!is_passing(err))
		return err;
	return (int) collect(backend, done);
}

const struct backend_ops backend_uring = {
	.name = "io_uring",
	.open = uring_open,
	.set_io_depth = uring_set_io_depth,
	.queue = uring_queue,
	.flush = uring_flush,
	.residency = residency__of,
	.release = residency__release,
	.close = uring_close,
};
