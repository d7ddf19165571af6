/*
 * lesslog.c
 *		Archives a file of WAL without the full-page images that redo can do without.
 *
 * A segment is decoded first, and again with the changes; nothing is written before (segment.c,
 * verify.c).  Then it is copied with the changes, compressed, read back from the device and
 * compared, and only then gets its name in the archive.  What is no segment, or does not
 * decode, is archived as it is.
 *
 * The server removes WAL that this program has archived, so it succeeds only if the file is
 * complete and on disk; and what is in the archive is never replaced.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "lesslog/content.h"
#include "lesslog/lesslog.h"
#include "lesslog/lesslog_report.h"
#include "lesslog/output.h"
#include "lesslog/verify.h"

/* One run. */
struct lesslog
{
	const struct lesslog_options *options;	/* what the user chose */
	struct content content;		/* what goes into the archive */
	struct output output;		/* where it goes, unless that is standard output */
	int			signal_fd;		/* receives signals that end the program, -1: they just do */
	struct lesslog_summary summary;
};

/* What to do about an error. */
static const char *
remedy(int err)
{
	switch (-err)
	{
		case ENOENT:
		case ENOTDIR:
			return "give the path of a file in a directory that exists";
		case EACCES:
		case EPERM:
		case EROFS:
			return "let the user of the server write to the directory of the archive, and read WAL";
		case ENOSPC:
		case EDQUOT:
			return "make room in the archive";
		case EWOULDBLOCK:
			return "wait for the process that writes it";
		case ENOLCK:
		case ENOSYS:
		case EOPNOTSUPP:
			return "mount the archive with locks; local ones do if no other host archives the same files";
		default:
			return "the server will try again";
	}
}

static bool
is_stream(const char *path)
{
	return strcmp(path, CONTENT_STREAM) == 0;
}

/* The "read" of a wal_source: the content. */
static long
read_segment(void *context, uint64_t lsn, void *out, size_t bytes)
{
	const struct lesslog *lesslog = context;
	int			err = content__read(&lesslog->content, lsn - lesslog->summary.segment.lsn, out,
									bytes);

	return err < 0 ? err : (long) bytes;
}

/*
 * Find out what can be removed.  What does not decode is archived as it is, which is
 * reported if it should be a segment.  Returns 0 or -errno.
 */
static int
examine(struct lesslog *lesslog)
{
	const char *path = lesslog->options->path;
	const char *slash = strrchr(path, '/');
	const char *name = is_stream(path) ? NULL : slash != NULL ? slash + 1 : path;
	struct lesslog_summary *summary = &lesslog->summary;
	struct content *content = &lesslog->content;
	struct wal_long_page_header header = {0};
	const char *remedy_of_segment = "see what pg_waldump reports of it";
	int			err = 0;

	if (name != NULL && !segment__is_name(name))
	{
		snprintf(summary->unchanged, sizeof(summary->unchanged), "its name is not a segment's");
		return 0;
	}
	if (content->bytes >= sizeof(header))
		err = content__read(content, 0, &header, sizeof(header));
	if (err == 0)
	{
		err = segment__identify(&summary->segment, name, &header, content->bytes,
								summary->unchanged);
		/* A history file may come from standard input; what writes a segment may fail. */
		if (err == -ENODATA && name == NULL)
			return 0;
		if (err < 0 && name == NULL && content->bytes < summary->segment.segment_bytes)
		{
			log_error("standard input: %s; check the command that writes to it",
					  summary->unchanged);
			return err;
		}
		summary->is_segment = err == 0;
		if (err == 0)
			err = segment__scan(&summary->segment, (struct wal_source) {read_segment, lesslog},
								&content->edits, summary->unchanged);
		if (err == 0 && content->edits.count > 0)
		{
			err = verify__segment(content, &summary->segment, summary->unchanged);
			remedy_of_segment = "report it as a fault of redoahead, with the segment";
		}
	}
	else
		snprintf(summary->unchanged, sizeof(summary->unchanged), "%s", content__error(err));
	if (err == -EBADMSG || err == -ENODATA)
	{
		edits__destroy(&content->edits);
		summary->segment.counts = (struct segment_counts) {0};
		log_warning("\"%s\" is archived unchanged: %s; %s", path, summary->unchanged,
					remedy_of_segment);
		return 0;
	}
	if (err < 0)
		log_error("cannot read \"%s\": %s; %s", path,
				  err == -ESTALE ? content__error(err) : summary->unchanged, remedy(err));
	return err;
}

/* Has a signal arrived that ends programs?  Then its name has been logged. */
static bool
is_to_stop(const struct lesslog *lesslog)
{
	int			number = signals__take(lesslog->signal_fd);

	if (number == SIGHUP)		/* which has another meaning for programs that stay */
		log_info("stopping: %s", strsignal(number));
	return number != 0;
}

/* Write the content to a descriptor, compressed.  Returns 0 or -errno after a message. */
static int
write_content(struct lesslog *lesslog, int fd)
{
	static char piece[CONTENT_PIECE];
	const struct lesslog_options *options = lesslog->options;
	const struct content *content = &lesslog->content;
	struct compressor compressor;
	int			err = compress__begin(&compressor, options->method, options->level, fd,
									  content->bytes);

	for (uint64_t at = 0; err == 0 && at < content->bytes; at += CONTENT_PIECE)
	{
		uint64_t	left = content->bytes - at;
		size_t		bytes = left < CONTENT_PIECE ? (size_t) left : CONTENT_PIECE;

		if (lesslog->signal_fd >= 0 && is_to_stop(lesslog))
			err = -EINTR;
		else if ((err = content__read(content, at, piece, bytes)) < 0)
		{
			log_error("cannot read \"%s\": %s; %s", options->path, content__error(err), remedy(err));
			compress__destroy(&compressor);
			return err;
		}
		else
			err = compress__add(&compressor, piece, bytes);
	}
	if (err == 0)
		err = compress__end(&compressor);
	if (err < 0 && err != -EINTR)
		log_error("cannot write \"%s\": %s; %s", options->out, strerror(-err), remedy(err));
	lesslog->summary.bytes_out = compressor.written;
	compress__destroy(&compressor);
	return err;
}

/*
 * There is a file already: has an earlier run archived it?  It may have been archived with
 * its images, too.  Returns 0 or -errno after a message.
 */
static int
take_existing(struct lesslog *lesslog, int fd)
{
	char		message[WAL_MESSAGE_BYTES];
	char		ignored[WAL_MESSAGE_BYTES];
	struct edits edits = lesslog->content.edits;
	struct stat st = {0};
	int			err = verify__same(&lesslog->content, fd, lesslog->options->method, message);

	if (err == -EILSEQ && edits.count > 0)
	{
		lesslog->content.edits = (struct edits) {0};
		if (verify__same(&lesslog->content, fd, lesslog->options->method, ignored) == 0)
			err = 0;
		lesslog->content.edits = edits;
	}
	if (err < 0 && err != -EILSEQ && err != -EBADMSG)
		log_error("cannot read \"%s\": %s; %s", lesslog->options->out, message, remedy(err));
	else if (err < 0)
		log_error("\"%s\" exists, and is not \"%s\": %s; it is not replaced; if it is not needed, "
				  "move it away", lesslog->options->out, lesslog->options->path, message);
	if (err < 0)
		return err;
	if (fstat(fd, &st) == 0)
		lesslog->summary.bytes_out = (uint64_t) st.st_size;
	lesslog->summary.already_archived = true;
	/* Of a process that was killed when it had given the file its name. */
	(void) output__remove_leftover(&lesslog->output);
	err = output__sync(fd);
	if (err == 0)
		err = output__sync_directory(&lesslog->output);
	if (err < 0)
		log_error("cannot write \"%s\": %s; %s", lesslog->options->out, strerror(-err),
				  remedy(err));
	return err;
}

/* Write a file that does not exist.  Returns 0 or -errno after a message. */
static int
write_file(struct lesslog *lesslog)
{
	struct output *output = &lesslog->output;
	char		message[WAL_MESSAGE_BYTES];
	int			err = output__create(output, lesslog->content.mode);

	if (err == -ELOOP)
	{
		log_error("\"%s" OUTPUT_SUFFIX "\" is a symbolic link; remove it", lesslog->options->out);
		return err;
	}
	if (err == 0)
	{
		err = write_content(lesslog, output->fd);
		if (err < 0)
			return err;
		err = output__sync(output->fd);
	}
	if (err == 0)
	{
		err = verify__same(&lesslog->content, output->fd, lesslog->options->method, message);
		if (err < 0)
		{
			log_error("\"%s\" is not what was written to it: %s; check the device of the archive",
					  lesslog->options->out, message);
			return err;
		}
		if (is_to_stop(lesslog))
			return -EINTR;
		if (!content__is_at(&lesslog->content, lesslog->options->path))
		{
			log_error("\"%s\" was renamed or replaced while it was read; the server will try again",
					  lesslog->options->path);
			return -ESTALE;
		}
		err = output__publish(output);
	}
	if (err == -ESTALE)
	{
		log_error("\"%s" OUTPUT_SUFFIX "\" was removed or replaced while it was written; let no "
				  "other host archive the same files, or mount the archive with locks that hosts "
				  "share", lesslog->options->out);
		return err;
	}
	if (err == 0)
		err = output__sync_directory(output);
	if (err < 0)
		log_error("cannot write \"%s\": %s; %s", lesslog->options->out, strerror(-err),
				  remedy(err));
	return err;
}

/* Have the content in the archive.  Returns 0 or -errno after a message. */
static int
archive(struct lesslog *lesslog)
{
	const char *out = lesslog->options->out;
	int			err = output__open(&lesslog->output, out);
	int			existing;

	if (err < 0)
	{
		log_error("cannot open the directory of \"%s\": %s; %s", out, strerror(-err), remedy(err));
		return err;
	}
	existing = output__existing(&lesslog->output);
	if (existing >= 0)
	{
		err = take_existing(lesslog, existing);
		close(existing);
		return err;
	}
	if (existing == -ENOENT)
		return write_file(lesslog);
	if (existing == -EEXIST)
		log_error("\"%s\" exists, and is no file; give another name", out);
	else
		log_error("cannot open \"%s\": %s; %s", out, strerror(-existing), remedy(existing));
	return existing;
}

/*
 * Archive a file.  Signals that end programs wait until what is incomplete has been
 * removed; a filter, which makes no files, they end at once.  Returns 0, or -errno after a
 * message.
 */
int
lesslog__run(const struct lesslog_options *options)
{
	static struct lesslog lesslog;
	bool		to_file = !is_stream(options->out);
	int			err;

	lesslog = (struct lesslog) {
		.options = options,.signal_fd = -1,.output = {.dirfd = -1,.fd = -1},
		.summary = {.begin_us = clock__now_us(),.file = options->path},
	};
	err = content__open(&lesslog.content, options->path);
	if (err < 0)
		log_error("cannot read \"%s\": %s; %s", options->path, content__error(err), remedy(err));
	else if (lesslog.content.bytes == 0 && is_stream(options->path))
	{
		err = -ENODATA;
		log_error("standard input is empty; check the command that writes to it");
	}
	lesslog.summary.bytes_in = lesslog.content.bytes;
	if (err == 0 && to_file)
	{
		lesslog.signal_fd = signals__open();
		err = lesslog.signal_fd < 0 ? lesslog.signal_fd : 0;
	}
	if (err == 0)
		err = examine(&lesslog);
	if (err == 0)
		err = to_file ? archive(&lesslog) : write_content(&lesslog, STDOUT_FILENO);
	output__close(&lesslog.output);
	content__close(&lesslog.content);
	if (lesslog.signal_fd >= 0)
		close(lesslog.signal_fd);
	if (err == 0)
		lesslog_report__summary(&lesslog.summary, options->json);
	return err;
}
