/*
 * fdcache.c
 *		A bounded cache of descriptors of segment files.
 *
 * A hash table over a fixed array of slots; a clock hand chooses what to
 * close when all slots are taken.  A file with requests in flight is pinned
 * and never closed.  A sweep closes files that were unlinked, each within
 * about a second: the relation was dropped, its space must be given back, and
 * its number may be reused.  Does not remember files that do not exist; see
 * absent.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/fdcache.h"

#define NO_SLOT			UINT32_MAX

/* Each open file is looked at once in this time, us. */
#define SWEEP_PERIOD_US	1000000

struct fdcache
{
	int			dirfd;			/* the data directory; not ours to close */
	int			open_flags;		/* O_NOATIME unless it was refused */
	unsigned	capacity;		/* slots */
	unsigned	used;			/* slots with an open file */
	uint32_t	hand;			/* clock hand: next slot to consider closing */
	uint32_t	sweep_next;		/* next slot to look at for unlinked files */
	uint64_t	swept_us;		/* when the sweep was last advanced, us */
	uint32_t	bucket_mask;	/* buckets - 1 */
	uint32_t   *buckets;		/* first slot of each hash chain */
	uint32_t	free_slot;		/* chain of free slots */
	struct fdcache_file *slots; /* capacity of them */
};

static uint32_t *
bucket_of(struct fdcache *cache, const struct relpath_key *key)
{
	uint64_t	hash;

	hash = ((uint64_t) key->rel << 32 | key->segment) * UINT64_C(0x9E3779B97F4A7C15);
	hash ^= ((uint64_t) key->db << 32 | key->spc) * UINT64_C(0xC2B2AE3D27D4EB4F);
	hash ^= ((uint64_t) key->kind << 8 | key->fork) * UINT64_C(0x165667B19E3779F9);
	hash ^= hash >> 32;
	return &cache->buckets[hash & cache->bucket_mask];
}

/* Make a cache of at most capacity descriptors below a directory. */
int
fdcache__create(struct fdcache **result, int dirfd, unsigned capacity)
{
	struct fdcache *cache;
	uint32_t	buckets = 16;

	while (buckets < capacity)
		buckets *= 2;

	cache = calloc(1, sizeof(*cache));
	if (cache == NULL)
		return -ENOMEM;
	cache->slots = calloc(capacity, sizeof(*cache->slots));
	cache->buckets = calloc(buckets, sizeof(*cache->buckets));
	if (cache->slots == NULL || cache->buckets == NULL)
	{
		fdcache__destroy(cache);
		return -ENOMEM;
	}
	cache->dirfd = dirfd;
	cache->open_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOATIME;
	cache->capacity = capacity;
	cache->bucket_mask = buckets - 1;
	for (uint32_t i = 0; i < buckets; i++)
		cache->buckets[i] = NO_SLOT;
	for (uint32_t i = 0; i < capacity; i++)
	{
		cache->slots[i].fd = -1;
		cache->slots[i].next = i + 1 < capacity ? i + 1 : NO_SLOT;
	}
	*result = cache;
	return 0;
}

/* Close one file that is not pinned and free its slot. */
static void
close_file(struct fdcache *cache, struct fdcache_file *file)
{
	uint32_t	slot = (uint32_t) (file - cache->slots);
	uint32_t   *link = bucket_of(cache, &file->key);

	while (*link != slot)
		link = &cache->slots[*link].next;
	*link = file->next;

	close(file->fd);
	file->fd = -1;
	file->next = cache->free_slot;
	cache->free_slot = slot;
	cache->used--;
}

/* Close up to count files that are not pinned; returns how many. */
static unsigned
evict(struct fdcache *cache, unsigned count, struct counters *counters)
{
	unsigned	evicted = 0;

	/* After two rounds every file that is not pinned had its chance. */
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

	/* A pipe or a device put there would make a read wait for ever. */
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EACCES;
	else
	{
		/* Only the read-ahead is at stake if this fails. */
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		return fd;
	}
	close(fd);
	return err;
}

/* A segment file if it is open; NULL otherwise.  Not pinned: of use until the next call. */
struct fdcache_file *
fdcache__find(struct fdcache *cache, const struct relpath_key *key)
{
	for (uint32_t slot = *bucket_of(cache, key); slot != NO_SLOT; slot = cache->slots[slot].next)
		if (memcmp(&cache->slots[slot].key, key, sizeof(*key)) == 0)
			return &cache->slots[slot];
	return NULL;
}

/*
 * Find or open a segment file and pin it.  Returns -EBUSY if all slots are
 * pinned; try again after a request has completed.
 */
int
fdcache__pin(struct fdcache *cache, const struct relpath_key *key,
			 const struct relpath_layout *layout, struct fdcache_file **result,
			 struct counters *counters)
{
	struct fdcache_file *file = fdcache__find(cache, key);
	uint32_t   *bucket = bucket_of(cache, key);
	char		path[RELPATH_BYTES];
	uint32_t	slot;
	int			fd;

	if (file != NULL)
		goto found;

	if (cache->used == cache->capacity && evict(cache, 1, counters) == 0)
		return -EBUSY;

	relpath__format(key, layout, path);
	fd = open_file(cache, path);
	if ((fd == -EMFILE || fd == -ENFILE) &&
		evict(cache, cache->used / 2 + 1, counters) > 0)
		fd = open_file(cache, path);
	if (fd < 0)
		return fd;
	counters->files_opened++;

	slot = cache->free_slot;
	file = &cache->slots[slot];
	cache->free_slot = file->next;
	cache->used++;
	file->key = *key;
	file->fd = fd;
	file->pins = 0;
	file->next = *bucket;
	*bucket = slot;

found:
	file->pins++;
	file->referenced = 1;
	*result = file;
	return 0;
}

/* A request on the file has completed. */
void
fdcache__unpin(struct fdcache_file *file)
{
	file->pins--;
}

/* Close the file now if it was unlinked. */
void
fdcache__check(struct fdcache *cache, struct fdcache_file *file, struct counters *counters)
{
	struct stat st;

	if (file->pins > 0 || (fstat(file->fd, &st) == 0 && st.st_nlink > 0))
		return;
	close_file(cache, file);
	counters->files_dropped++;
}

/*
 * Close unlinked files.  Call it often: each call looks at the share of the
 * slots that the time since the last call stands for.
 */
void
fdcache__sweep(struct fdcache *cache, uint64_t now_us, struct counters *counters)
{
	uint64_t	elapsed = now_us - cache->swept_us;
	uint64_t	count;

	if (elapsed > SWEEP_PERIOD_US)
		elapsed = SWEEP_PERIOD_US;
	count = elapsed * cache->capacity / SWEEP_PERIOD_US;
	if (count == 0)
		return;
	cache->swept_us = now_us;
	if (cache->used == 0)
		return;

	while (count-- > 0)
	{
		struct fdcache_file *file = &cache->slots[cache->sweep_next];

		cache->sweep_next = (cache->sweep_next + 1) % cache->capacity;
		if (file->fd >= 0)
			fdcache__check(cache, file, counters);
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
	if (cache->slots != NULL && cache->buckets != NULL)
		fdcache__clear(cache);
	free(cache->slots);
	free(cache->buckets);
	free(cache);
}
