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

#include "ablate.h"
#include "engine/residency.h"
#include "engine/sink.h"
#include "report/log.h"

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

struct sink
{
	struct io_uring ring;		/* the only user is this thread */
	uint64_t	page_size;		/* bytes */
	unsigned	slots;			/* entries in reads and groups */
	struct uring_read *reads;	/* by token */
	char	   *scratch;		/* SINK_MAX_BYTES of bytes nobody looks at */

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
	free(sink->groups);
	free(sink->scratch);
	free(sink);
}

/* Groups must not be so large that the device idles when one of them is done. */
static void
uring_set_depth(struct sink *sink, unsigned depth)
{
	unsigned	size = depth / MIN_GROUPS;

	if (size > MAX_GROUP)
		size = MAX_GROUP;
	if (size == 0 || sink->no_groups || ablated(groups))
		size = 1;
	sink->group_size = size;
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
	sink->groups = calloc(depth, sizeof(*sink->groups));
	sink->scratch = malloc(SINK_MAX_BYTES);
	if (sink->reads == NULL || sink->groups == NULL || sink->scratch == NULL)
		err = -ENOMEM;
	else
		err = uring_setup(sink, depth);
	if (err < 0)
	{
		sink->ring.ring_fd = -1;
		uring_close(sink);
		return err;
	}
	uring_set_depth(sink, depth);
	for (unsigned i = 0; i < depth; i++)
		sink->groups[i].next_free = i + 1 < depth ? i + 1 : NO_GROUP;
	sink->open_group = NO_GROUP;
	*result = sink;
	return 0;
}

/* Put a read into the submission queue, in the way its kind says. */
static struct io_uring_sqe *
push_read(struct sink *sink, uint32_t token)
{
	const struct uring_read *read = &sink->reads[token];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&sink->ring);

	if (sqe == NULL)
		return NULL;
	io_uring_prep_read(sqe, read->fd, sink->scratch, read->length, read->first);
	sqe->user_data = token;
	if (read->kind == READ_PLAIN)
		sink->plain_reads++;
	else
		sqe->rw_flags = RWF_NOWAIT;
	return sqe;
}

/* Make the last read of the open group the one that the group waits for. */
static void
close_group(struct sink *sink)
{
	struct uring_read *last;

	if (sink->open_group == NO_GROUP)
		return;
	last = &sink->reads[sink->last_sqe->user_data];
	if (last->kind == READ_NOWAIT)
	{
		sink->last_sqe->rw_flags = 0;
		last->kind = READ_PLAIN;
		sink->plain_reads++;
	}
	sink->open_group = NO_GROUP;
}

/* Put a read into the open group; a plain read, or the last one, closes it. */
static void
join_group(struct sink *sink, uint32_t token, struct io_uring_sqe *sqe)
{
	struct uring_group *group;

	if (sink->open_group == NO_GROUP)
	{
		sink->open_group = sink->free_group;
		group = &sink->groups[sink->open_group];
		sink->free_group = group->next_free;
		group->size = group->seen = group->waiting = 0;
	}
	group = &sink->groups[sink->open_group];
	sink->reads[token].group = sink->open_group;
	sink->last_sqe = sqe;
	if (++group->size >= sink->group_size || sink->reads[token].kind == READ_PLAIN)
		close_group(sink);
}

static int
uring_queue(struct sink *sink, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	struct uring_read *read = &sink->reads[token];
	struct io_uring_sqe *sqe;
	uint64_t	first;
	uint64_t	last;

	first = (offset / sink->page_size + 1) * sink->page_size - 1;
	last = (offset + bytes - 1) / sink->page_size * sink->page_size;
	if (last < first)			/* all in one page */
		first = last = offset;
	read->fd = fd;
	read->bytes = bytes;
	read->lead = (uint32_t) (first - offset);
	read->length = (uint32_t) (last - first + 1);
	read->first = first;
	read->kind = sink->group_size > 1 && read->length <= NOWAIT_BYTES ?
		READ_NOWAIT : READ_PLAIN;

	sqe = push_read(sink, token);
	if (sqe == NULL)
		return -EAGAIN;
	join_group(sink, token, sqe);
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
give_up_groups(struct sink *sink, const char *reason)
{
	if (sink->no_groups)
		return;
	sink->no_groups = true;
	sink->group_size = 1;
	log_info("%s; waiting for each read, which takes more CPU time", reason);
}

/* Submit a read again, on its own and in another way. */
static bool
read_again(struct sink *sink, uint32_t token, enum read_kind kind)
{
	sink->reads[token].kind = kind;
	sink->reads[token].group = NO_GROUP;
	return push_read(sink, token) != NULL;
}

/* A look was answered; returns true if the block must be read after all. */
static bool
judge(struct sink *sink, uint32_t token, int32_t result)
{
	bool		absent = would_wait(&sink->reads[token], result);

	sink->looks++;
	sink->looks_failed += absent;
	sink->halves += absent && result > 0;
	if (sink->halves >= HALVES_TO_GIVE_UP && sink->halves * 2 >= sink->looks_failed)
		give_up_groups(sink, "reads that may not wait start one page of each block only, as if "
					   "this device's read-ahead is zero (see blockdev --setra)");
	if (sink->looks == LOOKS_TO_JUDGE)
	{
		if (sink->looks_failed > LOOKS_TO_GIVE_UP)
			give_up_groups(sink, no_nowait);
		sink->looks = sink->looks_failed = sink->halves = 0;
	}
	return absent;
}

/* The last read of a group is there: so are those that wait for it. */
static unsigned
finish_group(struct sink *sink, uint32_t index, struct sink_completion *done)
{
	struct uring_group *group = &sink->groups[index];
	unsigned	first = 0;
	unsigned	n = 0;

	if (group->waiting > 0 &&
		(sink->groups_done++ % LOOK_EACH == 0 || sink->groups_done <= FIRST_LOOKS) &&
		read_again(sink, group->tokens[0], READ_LOOK))
		first = 1;
	for (unsigned i = first; i < group->waiting; i++)
	{
		done[n].token = group->tokens[i];
		done[n].result = (int32_t) sink->reads[group->tokens[i]].bytes;
		n++;
	}
	group->next_free = sink->free_group;
	sink->free_group = index;
	return n;
}

/* Must a read that was answered be done again, in the plain way? */
static bool
needs_plain(struct sink *sink, uint32_t token, int32_t result)
{
	switch (sink->reads[token].kind)
	{
		case READ_NOWAIT:
			/* What a file system says that has no such reads. */
			if (result != -EOPNOTSUPP)
				return false;
			give_up_groups(sink, no_nowait);
			return true;
		case READ_LOOK:
			return judge(sink, token, result);
		default:
			return false;
	}
}

/* The kernel answered a read; returns how many requests are done by that. */
static unsigned
answer(struct sink *sink, uint32_t token, int32_t result, struct sink_completion *done)
{
	struct uring_read *read = &sink->reads[token];
	uint32_t	index = read->group;
	unsigned	n = 0;

	if (read->kind == READ_PLAIN)
		sink->plain_reads--;

	if (read->kind == READ_NOWAIT && would_wait(read, result))
	{
		struct uring_group *group = &sink->groups[index];

		group->tokens[group->waiting++] = token;
	}
	else if (!needs_plain(sink, token, result) || !read_again(sink, token, READ_PLAIN))
	{
		done[n].token = token;
		done[n].result = range_result(read, result);
		n++;
	}

	if (index != NO_GROUP && ++sink->groups[index].seen == sink->groups[index].size)
		n += finish_group(sink, index, done + n);
	return n;
}

/* Fetch the answers that are there. */
static unsigned
collect(struct sink *sink, struct sink_completion *done)
{
	struct io_uring_cqe *cqe;
	unsigned	head;
	unsigned	seen = 0;
	unsigned	n = 0;

	io_uring_for_each_cqe(&sink->ring, head, cqe)
	{
		seen++;
		/* On old kernels liburing waits with a timeout request of its own. */
		if (cqe->user_data < sink->slots)
			n += answer(sink, (uint32_t) cqe->user_data, cqe->res, done + n);
	}
	io_uring_cq_advance(&sink->ring, seen);
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
uring_flush(struct sink *sink, unsigned want, unsigned wait_us,
			struct sink_completion *done)
{
	struct __kernel_timespec timeout = {.tv_nsec = (long long) wait_us * 1000};
	struct io_uring_cqe *cqe;
	unsigned	n;
	int			err = 0;

	close_group(sink);
	if (io_uring_sq_ready(&sink->ring) > 0 || wait_us == 0)
	{
		err = io_uring_submit_and_get_events(&sink->ring);
		if (!is_passing(err))
			return err;
	}
	n = collect(sink, done);
	if (n > 0 || want == 0)
		return (int) n;
	if (is_shortage(err))
	{
		/* The kernel would not even wait: let time pass all the same. */
		nanosleep(&(struct timespec) {.tv_nsec = SHORTAGE_WAIT_US * 1000}, NULL);
		return 0;
	}
	if (wait_us == 0 || sink->plain_reads == 0)
		return 0;

	/* Only plain reads are answered later, each of them for its group. */
	want /= sink->group_size;
	if (want > sink->plain_reads)
		want = sink->plain_reads;
	if (want == 0)
		want = 1;
	err = io_uring_submit_and_wait_timeout(&sink->ring, &cqe, want, &timeout, NULL);
	if (!is_passing(err))
		return err;
	return (int) collect(sink, done);
}

const struct sink_ops sink_uring = {
	.name = "io_uring",
	.open = uring_open,
	.set_depth = uring_set_depth,
	.queue = uring_queue,
	.flush = uring_flush,
	.finds = residency__of,
	.release = residency__release,
	.close = uring_close,
};
