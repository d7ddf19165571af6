/*
 * segments.c
 *		WAL in the segment files of a directory: pg_wal or an archive.
 *
 * One segment is open at a time.  Of a segment that several timelines have, the newest
 * one's file is read, as the server does; the newest has what the others have.  A file of
 * an archive may be compressed: its name then has a suffix, and a command of the user's
 * decompresses it in memory.  The directory, which may have 100 000 files, is listed once to
 * learn the suffixes, and not for each segment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shell.h"
#include "common/memfd.h"
#include "wal/page.h"
#include "wal/segments.h"

#define OPEN_FLAGS	(O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Segments in 4 GB of WAL, after which the middle part of names changes. */
#define SEGMENTS_PER_PART(bytes)	(UINT64_C(0x100000000) / (bytes))

/* The name of a segment's file. */
void
wal_segments__name(uint32_t timeline, uint64_t segment, uint32_t segment_bytes,
				   char name[WAL_SEGMENT_NAME_LENGTH + 1])
{
	uint64_t	per_part = SEGMENTS_PER_PART(segment_bytes);

	snprintf(name, WAL_SEGMENT_NAME_LENGTH + 1, "%08" PRIX32 "%08" PRIX32 "%08" PRIX32, timeline,
			 (uint32_t) (segment / per_part), (uint32_t) (segment % per_part));
}

/* Is this the name of a segment's file, which a dot and more may follow? */
bool
wal_segments__parse(const char *name, uint32_t segment_bytes, uint32_t *timeline,
					uint64_t *segment)
{
	uint64_t	per_part = SEGMENTS_PER_PART(segment_bytes);
	uint32_t	high;
	uint32_t	low;

	if (strspn(name, "0123456789ABCDEF") != WAL_SEGMENT_NAME_LENGTH ||
		(name[WAL_SEGMENT_NAME_LENGTH] != '\0' && name[WAL_SEGMENT_NAME_LENGTH] != '.') ||
		sscanf(name, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32, timeline, &high, &low) != 3 ||
		*timeline == 0 || low >= per_part)
		return false;
	*segment = high * per_part + low;
	return true;
}

/*
 * Open a directory of WAL, to read a timeline and those that it branched off from.
 * decompress, which may be NULL, is not copied.  Returns 0, or -errno with a message.
 */
int
wal_segments__open(struct wal_segments *segments, const char *directory,
				   uint32_t segment_bytes, uint32_t timeline, const char *decompress)
{
	int			err;

	*segments = (struct wal_segments)
	{
		.dirfd = -1,.segment_bytes = segment_bytes,.decompress = decompress,.fd = -1
	};
	segments->dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (segments->dirfd < 0)
	{
		err = -errno;
		snprintf(segments->message, sizeof(segments->message),
				 "cannot open the directory of WAL \"%.100s\": %s", directory, strerror(errno));
		return err;
	}
	err = timeline__read(&segments->history, timeline, segments->dirfd, segments->message);
	if (err < 0)
		wal_segments__close(segments);
	return err;
}

void
wal_segments__close(struct wal_segments *segments)
{
	if (segments->fd >= 0)
		close(segments->fd);
	if (segments->dirfd >= 0)
		close(segments->dirfd);
	segments->fd = segments->dirfd = -1;
	timeline__destroy(&segments->history);
}

/* Open the directory to list it.  NULL if that fails. */
static DIR *
open_directory(const struct wal_segments *segments)
{
	int			fd = openat(segments->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR		   *directory = fd >= 0 ? fdopendir(fd) : NULL;

	if (directory == NULL && fd >= 0)
		close(fd);
	return directory;
}

/*
 * Is this, after the dot, the suffix of a complete segment?  Others are of files that
 * belong to a segment, or that are being written.
 */
static bool
is_compressed_suffix(const char *suffix)
{
	static const char *const others[] = {"backup", "history", "lock", "partial", "redoahead-tmp",
	"tmp"};

	if (*suffix == '\0' || strlen(suffix) >= WAL_SUFFIX_BYTES || strchr(suffix, '.') != NULL)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(suffix, others[i]) == 0)
			return false;
	return true;
}

/* List the directory, unless that was done, for the suffixes of compressed segments. */
static void
learn_suffixes(struct wal_segments *segments)
{
	DIR		   *directory = segments->suffixes_known ? NULL : open_directory(segments);
	struct dirent *entry;

	segments->suffixes_known = true;
	while (directory != NULL && segments->suffix_count < WAL_MAX_SUFFIXES &&
		   (entry = readdir(directory)) != NULL)
	{
		const char *suffix = entry->d_name + WAL_SEGMENT_NAME_LENGTH + 1;
		uint32_t	timeline;
		uint64_t	segment;
		unsigned	i = 0;

		if (!wal_segments__parse(entry->d_name, segments->segment_bytes, &timeline, &segment) ||
			suffix[-1] != '.' || !is_compressed_suffix(suffix))
			continue;
		while (i < segments->suffix_count && strcmp(segments->suffixes[i], suffix) != 0)
			i++;
		if (i == segments->suffix_count)
			strcpy(segments->suffixes[segments->suffix_count++], suffix);
	}
	if (directory != NULL)
		closedir(directory);
}

/* A file in memory with the plain contents of a compressed one, -errno if that fails. */
static int
decompress(struct wal_segments *segments, const char *name, int compressed)
{
	int			plain = memfd__create("redoahead-wal", MFD_CLOEXEC);
	int			status = -1;
	struct stat result;

	if (plain >= 0)
		status = shell__run(segments->decompress, compressed, plain, segments->segment_bytes);
	if (status == 0 && fstat(plain, &result) == 0 && result.st_size == segments->segment_bytes)
		return plain;
	if (status > 0 && WIFSIGNALED(status))
		snprintf(segments->message, sizeof(segments->message), "\"%.80s\" was ended by signal %d "
				 "for \"%.60s\"", segments->decompress, WTERMSIG(status), name);
	else if (status > 0)
		snprintf(segments->message, sizeof(segments->message), "\"%.80s\" failed with status %d "
				 "for \"%.60s\"", segments->decompress, WEXITSTATUS(status), name);
	else
		snprintf(segments->message, sizeof(segments->message), "\"%.80s\" made no segment of %u "
				 "bytes of \"%.60s\"", segments->decompress, segments->segment_bytes, name);
	if (plain >= 0)
		close(plain);
	return -EIO;
}

/* Set the message to why a file cannot be opened.  Returns -errno. */
static int
cannot_open(struct wal_segments *segments, const char *name)
{
	int			err = -errno;

	snprintf(segments->message, sizeof(segments->message), "cannot open \"%s\": %s", name,
			 strerror(-err));
	return err;
}

/*
 * Open the compressed file of a segment, or only find it and return 0.  If there are
 * several, the first one that can be decompressed.  -ENOENT if there is none, -errno with a
 * message if none can be used.
 */
static int
find_compressed(struct wal_segments *segments, const char *name, bool open)
{
	int			result = -ENOENT;

	learn_suffixes(segments);
	for (unsigned i = 0; i < segments->suffix_count && result < 0; i++)
	{
		char		compressed_name[WAL_SEGMENT_NAME_LENGTH + 1 + WAL_SUFFIX_BYTES];
		int			fd;

		snprintf(compressed_name, sizeof(compressed_name), "%s.%s", name, segments->suffixes[i]);
		fd = open ? openat(segments->dirfd, compressed_name, OPEN_FLAGS) :
			faccessat(segments->dirfd, compressed_name, R_OK, 0);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			result = cannot_open(segments, compressed_name);
		else if (!open)
			result = 0;
		else
		{
			result = decompress(segments, compressed_name, fd);
			close(fd);
		}
	}
	if (result >= 0)
		segments->message[0] = '\0'; /* of a file that was not needed */
	return result;
}

/*
 * Open the file of a segment on one timeline, or only find it and return 0.  -ENOENT if
 * there is none.
 */
static int
find_file(struct wal_segments *segments, uint32_t timeline, uint64_t segment, bool open)
{
	char		name[WAL_SEGMENT_NAME_LENGTH + 1];
	char		spooled[sizeof(WAL_SPOOL_NAME) + sizeof(name)];
	int			fd;

	wal_segments__name(timeline, segment, segments->segment_bytes, name);
	snprintf(spooled, sizeof(spooled), WAL_SPOOL_NAME "/%s", name);
	if (!segments->no_spool)
	{
		fd = open ? openat(segments->dirfd, spooled, OPEN_FLAGS) :
			faccessat(segments->dirfd, spooled, R_OK, 0);
		if (fd >= 0)
			return fd;
	}
	fd = open ? openat(segments->dirfd, name, OPEN_FLAGS) :
		faccessat(segments->dirfd, name, R_OK, 0);
	if (fd >= 0)
		return fd;
	if (errno != ENOENT)
		return cannot_open(segments, name);
	return segments->decompress != NULL ? find_compressed(segments, name, open) : -ENOENT;
}

/* Likewise, on the newest timeline that has one, whose end is set if it is opened. */
static int
find_segment(struct wal_segments *segments, uint64_t segment, bool open)
{
	int			fd = -ENOENT;

	for (unsigned i = segments->history.count; i-- > 0 && fd == -ENOENT;)
	{
		const struct timeline_entry *entry = &segments->history.entries[i];

		if (segment < entry->begin / segments->segment_bytes ||
			segment * segments->segment_bytes >= entry->end)
			continue;
		fd = find_file(segments, entry->timeline, segment, open);
		if (open)
			segments->end = entry->end;
	}
	return fd;
}

/*
 * The "read" of a wal_source, with a struct wal_segments as its context.  No read goes
 * beyond the end of a segment, or of a timeline in it: until there is a file of the newer
 * timeline, WAL ends there.
 */
long
wal_segments__read(void *context, uint64_t lsn, void *out, size_t bytes)
{
	struct wal_segments *segments = context;
	uint64_t	segment = lsn / segments->segment_bytes;
	uint64_t	offset = lsn % segments->segment_bytes;
	ssize_t		n;

	if (segments->fd < 0 || segment != segments->segment)
	{
		if (segments->fd >= 0)
			close(segments->fd);
		segments->fd = find_segment(segments, segment, true);
		segments->segment = segment;
		if (segments->fd < 0)
		{
			int			err = segments->fd;

			segments->fd = -1;
			return err == -ENOENT ? 0 : err;
		}
	}
	if (lsn >= segments->end)
		return 0;
	if (bytes > segments->segment_bytes - offset)
		bytes = (size_t) (segments->segment_bytes - offset);
	if (bytes > segments->end - lsn)
		bytes = (size_t) (segments->end - lsn);
	do
		n = pread(segments->fd, out, bytes, (off_t) offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* The end of the last segment of those that follow on from "lsn" without a gap. */
uint64_t
wal_segments__end(struct wal_segments *segments, uint64_t lsn)
{
	uint64_t	segment = lsn / segments->segment_bytes;
	int			fd;

	while ((fd = find_segment(segments, segment, false)) >= 0)
		segment++;
	return segment * segments->segment_bytes;
}

/* Open the next file anew, even if it is the same, and list the directory anew. */
void
wal_segments__forget(struct wal_segments *segments)
{
	segments->suffixes_known = false;
	segments->suffix_count = 0;
	if (segments->fd >= 0)
		close(segments->fd);
	segments->fd = -1;
}

/* The timeline of a history file, from its name; 0 if it is none. */
static uint32_t
parse_history_name(const char *name)
{
	uint32_t	timeline = 0;

	if (strspn(name, "0123456789ABCDEF") == strlen("00000000") &&
		strcmp(name + strlen("00000000"), ".history") == 0)
		(void) sscanf(name, "%8" SCNx32, &timeline);
	return timeline;
}

/* The position at which a timeline ended in a history, 0 if it is not one of its ancestors. */
static uint64_t
branch_position(const struct timeline_history *history, uint32_t timeline)
{
	for (unsigned i = 0; i + 1 < history->count; i++)
		if (history->entries[i].timeline == timeline)
			return history->entries[i].end;
	return 0;
}

/*
 * The newest timeline with a history file in the directory that descends from "timeline"
 * and branched off from it at or after "lsn"; *begin receives the position where.  0 if
 * there is none: siblings, which branched off earlier, are ignored, and so are history
 * files that are not complete.
 */
uint32_t
wal_segments__descendant(const struct wal_segments *segments, uint32_t timeline, uint64_t lsn,
						 uint64_t *begin)
{
	DIR		   *directory = open_directory(segments);
	struct dirent *entry;
	uint32_t	newest = 0;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
	{
		uint32_t	candidate = parse_history_name(entry->d_name);
		struct timeline_history history;
		char		message[TIMELINE_MESSAGE_BYTES];
		uint64_t	position;

		if (candidate <= timeline || candidate <= newest ||
			timeline__read(&history, candidate, segments->dirfd, message) < 0)
			continue;
		position = branch_position(&history, timeline);
		timeline__destroy(&history);
		if (position != 0 && position >= lsn)
		{
			newest = candidate;
			*begin = position;
		}
	}
	if (directory != NULL)
		closedir(directory);
	return newest;
}
