/*
 * fdcache.c
 *		A bounded cache of descriptors of segment files.
 *
 * A fixed array of slots, found through a hash table; a clock hand chooses what to
 * close when all slots are taken.  A file with requests in flight is pinned and never
 * closed.  Files that were unlinked are closed within about a second: the
 * relation was dropped, its space must be freed, and its number may be reused.  NFS and
 * FUSE rename a file that is open instead of unlinking it, so files that are not used for
 * minutes are closed, too.  Does not remember files that do not exist.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/fdcache.h"

#define NO_SLOT			UINT32_MAX

/* Time between two checks of all open files, us; one takes half a millisecond per 1000. */
#define SWEEP_PERIOD_US	1000000

/* Checks without a use after which a file is closed: longer than redo is behind reads. */
#define IDLE_SWEEPS		300

/* An entry of the hash table. */
struct slot_of_key
{
	struct relpath_key key;		/* the file */
	uint32_t	slot;			/* its slot */
};

struct fdcache
{
	int			dirfd;			/* the data directory; the caller closes it */
	int			open_flags;		/* O_NOATIME unless it was refused */
	unsigned	capacity;		/* slots */
	unsigned	used;			/* slots with an open file */
	uint32_t	hand;			/* clock hand: next slot to consider closing */
	uint64_t	swept_us;		/* time of the last sweep, us */
	struct hash slots_by_key;	/* of struct slot_of_key */
	uint32_t	free_slot;		/* first of the chain of free slots, or NO_SLOT */
	struct fdcache_file *slots; /* capacity of them */
};

/* Make a cache of at most capacity descriptors below a directory. */
int
fdcache__create(struct fdcache **result, int dirfd, unsigned capacity)
{
	struct fdcache *cache;
	uint64_t	hash_slots = 16;

	/* The table takes entries until it is three quarters full. */
	while (hash_slots < 2 * (uint64_t) capacity)
		hash_slots *= 2;

	cache = calloc(1, sizeof(*cache));
	if (cache == NULL)
		return -ENOMEM;
	cache->slots = calloc(capacity, sizeof(*cache->slots));
	if (cache->slots == NULL ||
		hash__create(&cache->slots_by_key, sizeof(struct slot_of_key),
					 sizeof(struct relpath_key), hash_slots) < 0)
	{
		fdcache__destroy(cache);
		return -ENOMEM;
	}
	cache->dirfd = dirfd;
	cache->open_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOATIME;
	cache->capacity = capacity;
	for (uint32_t i = 0; i < capacity; i++)
	{
		cache->slots[i].fd = -1;
		cache->slots[i].next_free = i + 1 < capacity ? i + 1 : NO_SLOT;
	}
	*result = cache;
	return 0;
}

/* Close one file that is not pinned and free its slot. */
static void
close_file(struct fdcache *cache, struct fdcache_file *file)
{
	hash__remove(&cache->slots_by_key, hash__find(&cache->slots_by_key, &file->key));
	close(file->fd);
	file->fd = -1;
	file->next_free = cache->free_slot;
	cache->free_slot = (uint32_t) (file - cache->slots);
	cache->used--;
}

/* Close up to count files that are not pinned; returns how many. */
static unsigned
evict(struct fdcache *cache, unsigned count, struct counters *counters)
{
	unsigned	evicted = 0;

	/* After two rounds every file that is not pinned has had its chance. */
	for (unsigned step = 0; step < 2 * cache->capacity && evicted < count; step++)
	{
		struct fdcache_file *file = &cache->slots[cache->hand];

		cache->hand = (cache->hand + 1) % cache->capacity;
		if (file->fd < 0 || file->pins > 0)
			continue;
		if (file->referenced)
		{
			file->referenced = 0;
			continue;
		}
		close_file(cache, file);
		evicted++;
	}
	counters->files_evicted += evicted;
	return evicted;
}

/* Open a segment file for random reads. */
static int
open_file(struct fdcache *cache, const char *path)
{
	struct stat st;
	int			fd;
	int			err;

	do
	{
		fd = openat(cache->dirfd, path, cache->open_flags);
		if (fd < 0 && errno == EPERM && (cache->open_flags & O_NOATIME))
		{
			cache->open_flags &= ~O_NOATIME;
			errno = EINTR;
		}
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;

	/* A read of a pipe or a device could wait for ever. */
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EACCES;
	/*
	 * For a file that is O_NONBLOCK, reads by io_uring fail with EAGAIN where the file system
	 * or the device has no reads without waiting, such as dm-crypt before Linux 6.5.
	 */
	else if (fcntl(fd, F_SETFL, cache->open_flags & O_NOATIME) < 0)
		err = -errno;
	else
	{
		/* Without it the kernel reads ahead more than is wanted; that is all. */
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		return fd;
	}
	close(fd);
	return err;
}

/* A segment file if it is open, not pinned; NULL otherwise.  Valid until the next call. */
struct fdcache_file *
fdcache__find(struct fdcache *cache, const struct relpath_key *key)
{
	const struct slot_of_key *entry = hash__find(&cache->slots_by_key, key);

	return entry != NULL ? &cache->slots[entry->slot] : NULL;
}

/*
 * Find or open a segment file and pin it.  Returns -EBUSY if there is no slot, or no
 * descriptor, and all open files are pinned; try again after a request has completed.
 */
int
fdcache__pin(struct fdcache *cache, const struct relpath_key *key,
			 const struct relpath_layout *layout, struct fdcache_file **result,
			 struct counters *counters)
{
	struct fdcache_file *file = fdcache__find(cache, key);
	struct slot_of_key *entry;
	char		path[RELPATH_BYTES];
	int			fd;

	if (file != NULL)
	{
		file->pins++;
		file->referenced = 1;
		file->idle_sweeps = 0;
		*result = file;
		return 0;
	}
	if (cache->used == cache->capacity && evict(cache, 1, counters) == 0)
		return -EBUSY;

	relpath__format(key, layout, path);
	fd = open_file(cache, path);
	if ((fd == -EMFILE || fd == -ENFILE) &&
		evict(cache, cache->used / 2 + 1, counters) > 0)
		fd = open_file(cache, path);
	if ((fd == -EMFILE || fd == -ENFILE) && cache->used > 0)
		return -EBUSY;
	if (fd < 0)
		return fd;
	entry = hash__add(&cache->slots_by_key, key);
	if (entry == NULL)
	{
		close(fd);
		return -ENOMEM;
	}
	counters->files_opened++;
	entry->slot = cache->free_slot;
	file = &cache->slots[entry->slot];
	cache->free_slot = file->next_free;
	cache->used++;
	*file = (struct fdcache_file) {.key = *key,.fd = fd,.pins = 1,.referenced = 1};
	*result = file;
	return 0;
}

/* A request on the file has completed. */
void
fdcache__unpin(struct fdcache_file *file)
{
	file->pins--;
}

/* Close unlinked and idle files, if the last time is long enough ago; to be called often. */
void
fdcache__sweep(struct fdcache *cache, uint64_t now_us, struct counters *counters)
{
	if (now_us - cache->swept_us < SWEEP_PERIOD_US)
		return;
	cache->swept_us = now_us;
	for (unsigned i = 0; i < cache->capacity && cache->used > 0; i++)
	{
		struct fdcache_file *file = &cache->slots[i];
		struct stat st;

		if (file->fd < 0 || file->pins > 0)
			continue;
		if (++file->idle_sweeps >= IDLE_SWEEPS)
			counters->files_evicted++;
		else if (fstat(file->fd, &st) < 0 || st.st_nlink == 0)
			counters->files_dropped++;
		else
			continue;
		close_file(cache, file);
	}
}

/* Close all files; none may be pinned. */
void
fdcache__clear(struct fdcache *cache)
{
	for (unsigned i = 0; i < cache->capacity; i++)
		if (cache->slots[i].fd >= 0)
			close_file(cache, &cache->slots[i]);
}

/* Files open now. */
unsigned
fdcache__open_files(const struct fdcache *cache)
{
	return cache->used;
}

/* Close all files and free the cache. */
void
fdcache__destroy(struct fdcache *cache)
{
	if (cache == NULL)
		return;
	if (cache->slots != NULL && cache->slots_by_key.entries != NULL)
		fdcache__clear(cache);
	hash__destroy(&cache->slots_by_key);
	free(cache->slots);
	free(cache);
}
