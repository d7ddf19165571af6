/*
 * memfd.h
 *		Files in memory, which are never executed.
 *
 * Shared with the server extension.
 */
#ifndef REDOAHEAD_MEMFD_H
#define REDOAHEAD_MEMFD_H

#include <errno.h>
#include <sys/mman.h>

/* C libraries know it since glibc 2.38. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		0x0008U
#endif

/*
 * Like memfd_create(2), which Linux 6.3 to 6.5 refuse without the flag where vm.memfd_noexec
 * is 2; earlier ones do not know it.
 */
static inline int
memfd__create(const char *name, unsigned int flags)
{
	int			fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd;
}

#endif							/* REDOAHEAD_MEMFD_H */
