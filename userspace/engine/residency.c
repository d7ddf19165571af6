/*
 * residency.c
 *		Is a part of a file in the page cache?  Lets go of it.
 *
 * Asks by cachestat(2), which Linux has since 6.5.  A read that may not wait would
 * tell, too, but it starts what it does not find, takes what is on its way for
 * absent, and makes what it finds look used.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/residency.h"

/* The same on all machines; C libraries know it since glibc 2.39. */
#ifndef SYS_cachestat
#define SYS_cachestat	451
#endif

/* What the kernel calls struct cachestat_range, in bytes. */
struct range
{
	uint64_t	offset;			/* from the beginning of the file */
	uint64_t	length;			/* 0 would mean up to the end */
};

/* What the kernel calls struct cachestat, in pages. */
struct pages
{
	uint64_t	cached;			/* there, or on their way */
	uint64_t	dirty;			/* of those, to be written */
	uint64_t	writeback;		/* of those, being written */
	uint64_t	evicted;		/* there once, as far as is remembered */
	uint64_t	recently_evicted;	/* of those, lately */
};

_Static_assert(sizeof(struct range) == 16, "as the kernel has it");
_Static_assert(sizeof(struct pages) == 40, "as the kernel has it");

/*
 * Are all pages of a range in the page cache, or on their way there?  1 or 0;
 * -ENOSYS before Linux 6.5, -EPERM if the file is not ours, -EOPNOTSUPP where pages
 * cannot be counted.
 */
int
residency__of(int fd, uint64_t offset, uint32_t bytes)
{
	uint64_t	page = (uint64_t) sysconf(_SC_PAGESIZE);
	uint64_t	wanted = (offset + bytes - 1) / page - offset / page + 1;
	struct range range = {offset, bytes};
	struct pages pages;

	if (bytes == 0)
		return 1;
	if (syscall(SYS_cachestat, fd, &range, &pages, 0) < 0)
		return -errno;
	return pages.cached >= wanted;
}

/*
 * Take a range out of the page cache: whole pages, as far as they are clean and nobody
 * uses them.  Of those that are dirty, writing begins.  Where the kernel does not
 * know how, nothing happens.
 */
void
residency__release(int fd, uint64_t offset, uint32_t bytes)
{
	/* Of length 0, it would mean all that follows. */
	if (bytes > 0)
		(void) posix_fadvise(fd, (off_t) offset, (off_t) bytes, POSIX_FADV_DONTNEED);
}
