/*
 * content.c
 *		What goes into the archive: a file with changes, read in pieces.
 *
 * The file is not mapped: if somebody makes it shorter meanwhile, a read reports that, and a
 * mapping ends the process.  What comes through a pipe is copied into memory first, because
 * it is read several times; only that takes memory for all of a segment.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/memfd.h"
#include "lesslog/content.h"
#include "wal/page.h"

/* Permissions of what has none of its own. */
#define STREAM_MODE		0600

/* Write all of a buffer.  Returns 0 or -errno. */
int
content__write(int fd, const char *bytes, size_t count)
{
	while (count > 0)
	{
		ssize_t		n = write(fd, bytes, count);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
		{
			bytes += n;
			count -= (size_t) n;
		}
	}
	return 0;
}

/* Copy standard input into memory.  Returns 0 or -errno. */
static int
copy_stream(struct content *content)
{
	static char piece[CONTENT_PIECE];
	int			err = 0;
	ssize_t		n;

	content->fd = memfd__create("redoahead-lesslog", MFD_CLOEXEC);
	if (content->fd < 0)
		return -errno;
	while (err == 0 && (n = read(STDIN_FILENO, piece, sizeof(piece))) != 0)
	{
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		content->bytes += (uint64_t) n;
		/* Nothing that a server archives is larger than a segment. */
		if (content->bytes > WAL_SEGMENT_MAX_BYTES)
			return -EFBIG;
		err = content__write(content->fd, piece, (size_t) n);
	}
	return err;
}

/* Open a file, or standard input.  Returns 0 or -errno; content__close() is always called. */
int
content__open(struct content *content, const char *path)
{
	struct stat st;

	*content = (struct content) {.fd = -1,.mode = STREAM_MODE};
	if (strcmp(path, CONTENT_STREAM) == 0)
	{
		if (fstat(STDIN_FILENO, &st) < 0 || !S_ISREG(st.st_mode) ||
			lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
			return copy_stream(content);
		content->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	}
	else
		content->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (content->fd < 0 || fstat(content->fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	content->bytes = (uint64_t) st.st_size;
	content->mode = STREAM_MODE | (st.st_mode & 0666);
	return 0;
}

/* Does the path still name the file that was opened?  Servers recycle segments by renaming. */
bool
content__is_at(const struct content *content, const char *path)
{
	struct stat opened;
	struct stat present;

	return strcmp(path, CONTENT_STREAM) == 0 ||
		(fstat(content->fd, &opened) == 0 && stat(path, &present) == 0 &&
		 opened.st_dev == present.st_dev && opened.st_ino == present.st_ino);
}

/*
 * Read bytes that the file has, as they are when changed.  Returns 0 or -errno, -ESTALE if
 * the file became shorter.
 */
int
content__read(const struct content *content, uint64_t from, void *out, size_t bytes)
{
	size_t		done = 0;

	while (done < bytes)
	{
		ssize_t		n = pread(content->fd, (char *) out + done, bytes - done,
							  (off_t) (from + done));

		if (n == 0)
			return -ESTALE;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			done += (size_t) n;
	}
	edits__apply(&content->edits, from, out, bytes);
	return 0;
}

/* What an error of these functions means. */
const char *
content__error(int err)
{
	if (err == -ESTALE)
		return "it became shorter while it was read";
	if (err == -EFBIG)
		return "it has more than 1 GB, which no segment has";
	if (err == -EINVAL)
		return "it is not a regular file";
	return strerror(-err);
}

void
content__close(struct content *content)
{
	if (content->fd >= 0)
		close(content->fd);
	content->fd = -1;
	edits__destroy(&content->edits);
}
