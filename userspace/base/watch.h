/*
 * watch.h
 *		Adds a descriptor to an epoll set, which reports it by its number.
 */
#ifndef REDOAHEAD_BASE_WATCH_H
#define REDOAHEAD_BASE_WATCH_H

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>

/* Returns 0 or -errno. */
static inline int
watch__add(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events,.data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

#endif							/* REDOAHEAD_BASE_WATCH_H */
