/*
 * front.c
 *		The file system through which the modelled disks are used:
 *
 *		disk0, disk1, ...	the disks; reads and writes in whole pages
 *		stats				counters as JSON; see array__describe
 *		control				write "load" or "run" to it to change the phase, "fail NUMBER"
 *							to have the next reads fail with EIO, "stall MILLISECONDS"
 *							to have no request answered for so long
 *
 * Its only user is the loop driver, so the directory cannot be listed.  The files are
 * opened for direct I/O, so that each request reaches the model.  Mounting and the event loop are in
 * main.c.
 */
#define FUSE_USE_VERSION 312

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

/* Inodes. */
#define INODE_CONTROL	2
#define INODE_STATS		3
#define INODE_DISK		16		/* of disk 0; the others follow */

#define PAGE_BYTES		4096

/* Size of the largest request, bytes, and classes of sizes: powers of two from a page on. */
#define MAX_BYTES		(256 * 1024)
#define CLASSES			7

_Static_assert(PAGE_BYTES << (CLASSES - 1) == MAX_BYTES,
			   "the last class is for the largest requests");

/* Attributes never change: the kernel may keep them for so long, s. */
#define FOR_EVER		86400.0

/* Most requests that the kernel may have open. */
#define MAX_BACKGROUND	8192

#define CONTROL_BYTES	16

/*
 * A request of the kernel that is being served.  Its buffer is as large as its class
 * allows.  Jobs are used again: as many as were once under way at the same time stay.
 */
struct job
{
	struct transfer transfer;	/* for the array; must be first */
	fuse_req_t	fuse;			/* to be answered */
	unsigned	class;			/* of its size */
	struct job *next;			/* in the chain of unused ones of its class */
};

/* All state of the file system, which there is one of. */
struct front
{
	struct array *array;		/* serves the requests */
	const struct array_settings *settings;	/* what it is made of */
	struct job *unused[CLASSES];	/* chains of jobs for reuse */
	char	   *stats;			/* what the last read of `stats` from its start saw */
};

static struct front front;

static bool
is_disk(fuse_ino_t inode)
{
	return inode >= INODE_DISK && inode < INODE_DISK + front.settings->disks;
}

static fuse_ino_t
inode_of(const char *name)
{
	char		disk[16];

	if (strcmp(name, "control") == 0)
		return INODE_CONTROL;
	if (strcmp(name, "stats") == 0)
		return INODE_STATS;
	for (unsigned i = 0; i < front.settings->disks; i++)
	{
		snprintf(disk, sizeof(disk), "disk%u", i);
		if (strcmp(name, disk) == 0)
			return INODE_DISK + i;
	}
	return 0;
}

static void
attributes_of(fuse_ino_t inode, struct stat *attributes)
{
	*attributes = (struct stat) {.st_ino = inode,.st_nlink = 1,.st_mode = S_IFREG | 0600};
	if (inode == FUSE_ROOT_ID)
	{
		attributes->st_mode = S_IFDIR | 0700;
		attributes->st_nlink = 2;
	}
	else if (is_disk(inode))
		attributes->st_size = (off_t) front.settings->disk_bytes;
}

/* ---------- requests that move data ---------- */

/* The array is done with a job. */
static void
answer(struct transfer *transfer)
{
	struct job *job = (struct job *) transfer;
	const struct request *request = &transfer->request;

	if (transfer->error != 0)
		fuse_reply_err(job->fuse, transfer->error);
	else if (request->kind == REQUEST_READ)
		fuse_reply_buf(job->fuse, transfer->buffer, request->length);
	else if (request->kind == REQUEST_WRITE)
		fuse_reply_write(job->fuse, request->length);
	else
		fuse_reply_err(job->fuse, 0);

	job->next = front.unused[job->class];
	front.unused[job->class] = job;
}

/* A job for a request of at most so many bytes; NULL if there is no memory. */
static struct job *
get_job(uint32_t bytes)
{
	struct job *job;
	unsigned	class = 0;

	while ((uint32_t) PAGE_BYTES << class < bytes)
		class++;
	job = front.unused[class];
	if (job != NULL)
	{
		front.unused[class] = job->next;
		return job;
	}
	job = calloc(1, sizeof(*job));
	if (job == NULL)
		return NULL;
	job->class = class;
	job->transfer.buffer = aligned_alloc(PAGE_BYTES, (size_t) PAGE_BYTES << class);
	if (job->transfer.buffer == NULL)
	{
		free(job);
		return NULL;
	}
	return job;
}

/* Start a job; of a write, the data is copied. */
static void
start(fuse_req_t fuse, fuse_ino_t inode, enum request_kind kind, uint64_t offset,
	  uint32_t length, const void *data)
{
	struct job *job = get_job(length);

	if (job == NULL)
	{
		fuse_reply_err(fuse, ENOMEM);
		return;
	}
	job->fuse = fuse;
	job->transfer.request = (struct request) {.kind = kind,.offset = offset,.length = length};
	job->transfer.disk = (unsigned) (inode - INODE_DISK);
	job->transfer.done = answer;
	if (data != NULL)
		memcpy(job->transfer.buffer, data, length);
	array__start(front.array, &job->transfer);
}

/* Does a range of a disk make sense?  0 or an errno. */
static int
check_range(fuse_ino_t inode, size_t size, off_t offset)
{
	if (!is_disk(inode) || (offset | size) % PAGE_BYTES != 0 || size > MAX_BYTES)
		return EINVAL;
	if ((uint64_t) offset + size > front.settings->disk_bytes)
		return ENOSPC;
	return 0;
}

static void
read_stats(fuse_req_t fuse, size_t size, off_t offset)
{
	size_t		length;

	if (offset == 0)
	{
		free(front.stats);
		front.stats = array__describe(front.array);
	}
	length = front.stats != NULL ? strlen(front.stats) : 0;
	if ((size_t) offset >= length)
		fuse_reply_buf(fuse, NULL, 0);
	else
		fuse_reply_buf(fuse, front.stats + offset,
					   length - (size_t) offset < size ? length - (size_t) offset : size);
}

static void
op_read(fuse_req_t fuse, fuse_ino_t inode, size_t size, off_t offset,
		struct fuse_file_info *info)
{
	int			err;

	(void) info;
	if (inode == INODE_STATS)
	{
		read_stats(fuse, size, offset);
		return;
	}
	if (inode == INODE_CONTROL || size == 0 ||
		(is_disk(inode) && (uint64_t) offset >= front.settings->disk_bytes))
	{
		fuse_reply_buf(fuse, NULL, 0);
		return;
	}
	err = check_range(inode, size, offset);
	if (err != 0)
		fuse_reply_err(fuse, err);
	else
		start(fuse, inode, REQUEST_READ, (uint64_t) offset, (uint32_t) size, NULL);
}

static void
write_control(fuse_req_t fuse, const char *data, size_t size)
{
	char		word[CONTROL_BYTES];
	unsigned	number;
	int			length;

	if (size >= sizeof(word))
	{
		fuse_reply_err(fuse, EINVAL);
		return;
	}
	memcpy(word, data, size);
	word[size] = '\0';
	word[strcspn(word, "\n")] = '\0';
	if (strcmp(word, "load") == 0)
		array__set_phase(front.array, ARRAY_LOADING);
	else if (strcmp(word, "run") == 0)
		array__set_phase(front.array, ARRAY_RUNNING);
	else if (sscanf(word, "fail %u%n", &number, &length) == 1 && word[length] == '\0')
		array__fail_reads(front.array, number);
	else if (sscanf(word, "stall %u%n", &number, &length) == 1 && word[length] == '\0')
		array__stall(front.array, (uint64_t) number * (uint64_t) MILLISECOND);
	else
	{
		fuse_reply_err(fuse, EINVAL);
		return;
	}
	fuse_reply_write(fuse, size);
}

static void
op_write(fuse_req_t fuse, fuse_ino_t inode, const char *data, size_t size, off_t offset,
		 struct fuse_file_info *info)
{
	int			err;

	(void) info;
	if (inode == INODE_CONTROL)
	{
		write_control(fuse, data, size);
		return;
	}
	err = size == 0 ? EINVAL : check_range(inode, size, offset);
	if (err != 0)
		fuse_reply_err(fuse, err);
	else
		start(fuse, inode, REQUEST_WRITE, (uint64_t) offset, (uint32_t) size, data);
}

static void
op_fsync(fuse_req_t fuse, fuse_ino_t inode, int datasync, struct fuse_file_info *info)
{
	(void) datasync;
	(void) info;
	if (is_disk(inode))
		start(fuse, inode, REQUEST_FLUSH, 0, 0, NULL);
	else
		fuse_reply_err(fuse, 0);
}

/* ---------- the directory ---------- */

static void
op_init(void *data, struct fuse_conn_info *connection)
{
	(void) data;
	connection->want &= ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
						  FUSE_CAP_AUTO_INVAL_DATA);
	connection->want |= connection->capable & (FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ);
	connection->max_background = MAX_BACKGROUND;
	connection->congestion_threshold = MAX_BACKGROUND;
	connection->max_write = MAX_BYTES;
}

static void
op_lookup(fuse_req_t fuse, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {
		.ino = parent == FUSE_ROOT_ID ? inode_of(name) : 0,
		.attr_timeout = FOR_EVER,
		.entry_timeout = FOR_EVER,
	};

	if (entry.ino == 0)
	{
		fuse_reply_err(fuse, ENOENT);
		return;
	}
	attributes_of(entry.ino, &entry.attr);
	fuse_reply_entry(fuse, &entry);
}

static void
op_getattr(fuse_req_t fuse, fuse_ino_t inode, struct fuse_file_info *info)
{
	struct stat attributes;

	(void) info;
	attributes_of(inode, &attributes);
	fuse_reply_attr(fuse, &attributes, FOR_EVER);
}

/* Only `control` may be truncated, as a shell does before it writes. */
static void
op_setattr(fuse_req_t fuse, fuse_ino_t inode, struct stat *wanted, int what,
		   struct fuse_file_info *info)
{
	(void) wanted;
	(void) what;
	if (inode == INODE_CONTROL)
		op_getattr(fuse, inode, info);
	else
		fuse_reply_err(fuse, EPERM);
}

static void
op_open(fuse_req_t fuse, fuse_ino_t inode, struct fuse_file_info *info)
{
	(void) inode;
	info->direct_io = 1;
	info->keep_cache = 0;
	info->noflush = 1;
	fuse_reply_open(fuse, info);
}

static const struct fuse_lowlevel_ops operations = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.fsync = op_fsync,
};

/* The operations on the file system of an array; both arguments stay the caller's. */
const struct fuse_lowlevel_ops *
front__begin(struct array *array, const struct array_settings *settings)
{
	front = (struct front) {.array = array,.settings = settings};
	return &operations;
}

/* Free what the operations allocated. */
void
front__end(void)
{
	free(front.stats);
	front = (struct front) {0};
}
