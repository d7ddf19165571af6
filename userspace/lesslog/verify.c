/*
 * verify.c
 *		Is an archived file what it should be?
 *
 * It is decompressed and compared with the content byte by byte.  A segment from which
 * images were removed is decoded again, too, as far as it was compared: it must have the
 * same records, with the right CRCs, and nothing more to remove.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lesslog/decompress.h"
#include "lesslog/verify.h"

/* A comparison, from the start to the end. */
struct comparison
{
	const struct content *content;
	struct decompressor archived;	/* the archived file */
	uint64_t	done;			/* bytes that are equal */
	bool		file;			/* there is a file to compare with */
	uint64_t	lsn;			/* of the content's first byte, if it is decoded */
	int			err;			/* what was found, 0: nothing yet */
	const char *problem;		/* the same in words */
};

/* Note what is wrong.  Returns err. */
static int
differs(struct comparison *comparison, int err, const char *problem)
{
	comparison->err = err;
	comparison->problem = problem;
	return err;
}

/* Likewise for an error of decompress__read(). */
static int
is_damaged(struct comparison *comparison, int err)
{
	return differs(comparison, err,
				   err == -EBADMSG ? "it is damaged or incomplete" : strerror(-err));
}

/*
 * Compare up to a place in the content.  Returns 0, -EILSEQ if the file differs, -EBADMSG if
 * it is damaged, or another -errno.
 */
static int
compare(struct comparison *comparison, uint64_t until)
{
	static char wanted[CONTENT_PIECE];
	static char found[CONTENT_PIECE];

	while (comparison->file && comparison->done < until)
	{
		uint64_t	left = until - comparison->done;
		size_t		piece = left < CONTENT_PIECE ? (size_t) left : CONTENT_PIECE;
		int			err = content__read(comparison->content, comparison->done, wanted, piece);
		long		n;

		if (err < 0)
			return differs(comparison, err, content__error(err));
		n = decompress__read(&comparison->archived, found, piece);
		if (n < 0)
			return is_damaged(comparison, (int) n);
		if (n < (long) piece)
			return differs(comparison, -EILSEQ, "it is shorter");
		if (memcmp(wanted, found, piece) != 0)
			return differs(comparison, -EILSEQ, "it has other content");
		comparison->done += piece;
	}
	return 0;
}

/* The file has been compared: it must end here. */
static int
compare_end(struct comparison *comparison)
{
	char		byte;
	long		n = comparison->file ? decompress__read(&comparison->archived, &byte, 1) : 0;

	if (n < 0)
		return is_damaged(comparison, (int) n);
	return n > 0 ? differs(comparison, -EILSEQ, "it is longer") : 0;
}

/* The "read" of a wal_source: what is read was compared. */
static long
read_compared(void *context, uint64_t lsn, void *out, size_t bytes)
{
	struct comparison *comparison = context;
	uint64_t	from = lsn - comparison->lsn;
	int			err = compare(comparison, from + bytes);

	if (err == 0)
		err = content__read(comparison->content, from, out, bytes);
	return err < 0 ? err : (long) bytes;
}

/* Begin to compare with a file, or with nothing. */
static int
begin(struct comparison *comparison, const struct content *content, int fd,
	  enum compress_method method)
{
	int			err = 0;

	*comparison = (struct comparison) {.content = content,.file = fd >= 0};
	if (comparison->file)
		err = decompress__begin(&comparison->archived, method, fd);
	return err < 0 ? differs(comparison, err, strerror(-err)) : 0;
}

/* The end.  Returns err, with a message. */
static int
end(struct comparison *comparison, int err, char message[WAL_MESSAGE_BYTES])
{
	if (comparison->err < 0)
	{
		err = comparison->err;
		snprintf(message, WAL_MESSAGE_BYTES, "%s", comparison->problem);
	}
	if (comparison->file)
		decompress__destroy(&comparison->archived);
	return err;
}

/*
 * Has a file this content?  Returns 0; or with a message -EILSEQ if it has another one,
 * -EBADMSG if it is damaged, or another -errno.
 */
int
verify__same(const struct content *content, int fd, enum compress_method method,
			 char message[WAL_MESSAGE_BYTES])
{
	struct comparison comparison;
	int			err = begin(&comparison, content, fd, method);

	if (err == 0)
		err = compare(&comparison, content->bytes);
	if (err == 0)
		err = compare_end(&comparison);
	return end(&comparison, err, message);
}

/*
 * Is the content, and the file with it, if there is one (fd >= 0), the segment without
 * the images that were to be removed?  Returns as verify__same().
 */
int
verify__segment(const struct content *content, const struct segment *segment, int fd,
				enum compress_method method, char message[WAL_MESSAGE_BYTES])
{
	struct segment found = *segment;
	struct edits edits = {0};
	struct comparison comparison;
	int			err = begin(&comparison, content, fd, method);

	comparison.lsn = segment->lsn;
	if (err == 0)
		err = segment__scan(&found, (struct wal_source) {read_compared, &comparison}, &edits,
							message);
	if (err == 0)
		err = compare(&comparison, content->bytes);
	if (err == 0)
		err = compare_end(&comparison);
	if (err == 0 && (edits.count > 0 || found.counts.records != segment->counts.records ||
					 found.counts.images !=
					 segment->counts.images - segment->counts.images_removed))
		err = differs(&comparison, -EBADMSG, "it has other records");
	edits__destroy(&edits);
	return end(&comparison, err, message);
}
