/*
 * backend.h
 *		How ranges of files are read into the page cache.
 *
 * The engine decides what to submit and when; a backend implements the reads.
 */
#ifndef REDOAHEAD_ENGINE_BACKEND_H
#define REDOAHEAD_ENGINE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

/* Longest range of one request, bytes. */
#define BACKEND_MAX_BYTES	(128 * 1024)

/* A request that is done. */
struct backend_completion
{
	uint32_t	token;			/* as given to queue */
	int32_t		result;			/* bytes of the range now resident, or -errno */
};

/* How much of a range is in the page cache, or being read. */
enum residency
{
	RESIDENT_NONE,
	RESIDENT_PART,
	RESIDENT_ALL
};

struct backend;

struct backend_ops
{
	const char *name;			/* as in --backend */
	bool		adaptive;		/* are completions real, so that depths can be compared? */

	/* Make a backend for at most io_depth requests at a time. */
	int			(*open) (struct backend **backend, unsigned io_depth);

	/* Submit a range; may be held back until flush. */
	int			(*queue) (struct backend *backend, int fd, uint64_t offset,
						  uint32_t bytes, uint32_t token);

	/*
	 * Start what is held back, wait until want requests are done or wait_us
	 * have passed.  Stores completions in done, which has room for depth of
	 * them, and returns how many.
	 */
	int			(*flush) (struct backend *backend, unsigned want, unsigned wait_us,
						  struct backend_completion *done);

	/* An enum residency, or -errno if the kernel cannot report it. */
	int			(*residency) (int fd, uint64_t offset, uint32_t bytes);

	/*
	 * Remove the range from the page cache.  False if it stays because it is dirty; it
	 * may stay for other reasons.
	 */
	bool		(*release) (int fd, uint64_t offset, uint32_t bytes);
	void		(*close) (struct backend *backend);
};

extern const struct backend_ops backend_uring;
extern const struct backend_ops backend_fadvise;

#endif							/* REDOAHEAD_ENGINE_BACKEND_H */
