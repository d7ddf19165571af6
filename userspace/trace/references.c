/*
 * references.c
 *		The references that the server gives the daemon.
 *
 * The ring between the two is memory without a name, found by way of the
 * daemon's descriptors in /proc.  It is mapped for reading only, and what it
 * holds is not trusted.  A reference that the daemon has taken stays in its slot
 * until the ring wraps around; those overwritten before that are counted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/references.h"

/* What the link in /proc of its descriptor begins with. */
#define RING_LINK	"/memfd:redoahead"

/* Seals without which the mapping could become invalid. */
#define REQUIRED_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW)

/* Is this the header of a valid ring of our version? */
static bool
is_valid(const struct redoahead_ring *ring, uint64_t bytes)
{
	uint64_t	capacity = ring->capacity;

	return ring->magic == REDOAHEAD_MAGIC && ring->version == REDOAHEAD_ABI_VERSION &&
		ring->ref_size == sizeof(struct redoahead_ref) &&
		capacity >= REDOAHEAD_MIN_CAPACITY && capacity <= REDOAHEAD_MAX_CAPACITY &&
		(capacity & (capacity - 1)) == 0 && ring->refs_offset >= sizeof(*ring) &&
		ring->refs_offset % sizeof(struct redoahead_ref) == 0 &&
		ring->refs_offset + capacity * sizeof(struct redoahead_ref) <= bytes;
}

static uint64_t
head_of(const struct references *references)
{
	return __atomic_load_n(&references->ring->head, __ATOMIC_ACQUIRE);
}

/* Map a ring, to read it from the oldest reference that it holds. */
static int
open_ring(struct references *references, int fd, const struct stat *st)
{
	uint64_t	lost = references->lost;
	struct redoahead_ring header;
	uint64_t	head;
	void	   *memory;
	int			seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & REQUIRED_SEALS) != REQUIRED_SEALS)
		return -EPROTO;
	memory = mmap(NULL, (size_t) st->st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	references__close(references);
	*references = (struct references) {
		.ring = memory,
		.bytes = (uint64_t) st->st_size,
		.inode = st->st_ino,
		.lost = lost,
	};
	/* The others may change it at any time. */
	memcpy(&header, memory, sizeof(header));
	if (!is_valid(&header, references->bytes))
	{
		references__close(references);
		return -EPROTO;
	}
	references->capacity = header.capacity;
	references->slots = (const struct redoahead_ref *)
		((const char *) memory + header.refs_offset);
	head = head_of(references);
	if (head > references->capacity)
	{
		references->next = head - references->capacity;
		references->overrun = true;
	}
	return 0;
}

/*
 * Open the file of a process's descriptor for reading.  By now it may be another file,
 * even a device, which must not be opened.
 */
static int
open_regular(int directory, const char *name)
{
	int			file = openat(directory, name, O_PATH | O_CLOEXEC);
	char		path[64];
	struct stat st;
	int			fd = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0)
		close(file);
	return fd;
}

/* Find the ring among the descriptors of a daemon; 1: found, 0: it has none. */
static int
find_ring(struct references *references, pid_t daemon)
{
	struct dirent *entry;
	char		path[64];
	int			result = 0;
	DIR		   *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int) daemon);
	directory = opendir(path);
	if (directory == NULL)
		return errno == ENOENT ? 0 : -errno;
	while (result == 0 && (entry = readdir(directory)) != NULL)
	{
		char		link[64] = "";
		struct stat st;
		int			fd;

		if (readlinkat(dirfd(directory), entry->d_name, link, sizeof(link) - 1) < 0 ||
			strncmp(link, RING_LINK, strlen(RING_LINK)) != 0)
			continue;
		fd = open_regular(dirfd(directory), entry->d_name);
		if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t) sizeof(struct redoahead_ring))
			result = -EACCES;
		else if (references->ring != NULL && st.st_ino == references->inode)
			result = 1;
		else
			result = open_ring(references, fd, &st) == 0 ? 1 : -EPROTO;
		if (fd >= 0)
			close(fd);
	}
	closedir(directory);
	return result;
}

/*
 * Find the ring of the daemon that is connected to a server.  1: its references are
 * read from now on; 0: none is connected; -errno: not known.
 */
int
references__find(struct references *references, const pid_t *daemons, unsigned count)
{
	int			result = 0;

	for (unsigned i = 0; i < count && result == 0; i++)
		result = find_ring(references, daemons[i]);
	if (result <= 0)
		references__close(references);
	return result;
}

/*
 * Pass all new references to the handler.  Are those of the record being redone, and
 * of all later ones, complete?
 */
bool
references__consume(struct references *references, references_handler handler, void *context)
{
	uint64_t	head;

	if (references->ring == NULL)
		return false;
	head = head_of(references);
	if (head - references->next > references->capacity)
	{
		references->lost += head - references->next - references->capacity;
		references->next = head - references->capacity;
		references->overrun = true;
	}
	for (; references->next < head; references->next++)
	{
		struct redoahead_ref ref =
			references->slots[references->next & (references->capacity - 1)];

		/* The copy is valid only if its slot was not overwritten meanwhile. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (head_of(references) - references->next > references->capacity - 1)
		{
			references->lost++;
			references->overrun = true;
			continue;
		}
		if (references->overrun)
		{
			/* Some of the first record's references may be lost. */
			references->known_lsn = ref.lsn + 1;
			references->overrun = false;
		}
		handler(context, &ref);
	}
	return !references->overrun && references__replay_lsn(references) >= references->known_lsn;
}

/* The record being replayed, or the end of the last one. */
uint64_t
references__replay_lsn(const struct references *references)
{
	return references->ring == NULL ? 0 :
		__atomic_load_n(&references->ring->replay_lsn, __ATOMIC_RELAXED);
}

/* Unmap the ring. */
void
references__close(struct references *references)
{
	if (references->ring != NULL)
		munmap((void *) references->ring, references->bytes);
	references->ring = NULL;
	references->overrun = false;
	references->known_lsn = 0;
}
