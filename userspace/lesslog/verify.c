/*
 * verify.c
 *		Is a segment without its images, and an archived file, what it should be?
 *
 * The segment is decoded again: it must have the same records, with the right CRCs, all of
 * which is as it was but for images, and nothing more to remove.  The archived file is
 * decompressed and compared with the content byte by byte.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lesslog/decompress.h"
#include "lesslog/verify.h"

/* What a segment is decoded from again. */
struct changed
{
	const struct content *content;
	uint64_t	lsn;			/* of its first byte */
};

/* Write a message.  Returns err. */
static int
fail(int err, const char *problem, char message[WAL_MESSAGE_BYTES])
{
	snprintf(message, WAL_MESSAGE_BYTES, "%s", problem);
	return err;
}

/* Compare what is decompressed.  Returns as verify__same(). */
static int
compare(const struct content *content, struct decompressor *archived,
		char message[WAL_MESSAGE_BYTES])
{
	static char wanted[CONTENT_PIECE];
	static char found[CONTENT_PIECE];
	uint64_t	done = 0;
	long		n;

	do
	{
		uint64_t	left = content->bytes - done;
		size_t		piece = left < CONTENT_PIECE ? (size_t) left : CONTENT_PIECE;
		int			err = content__read(content, done, wanted, piece);

		if (err < 0)
			return fail(err, content__error(err), message);
		/* At the end, one byte more than there may be. */
		n = decompress__read(archived, found, piece > 0 ? piece : 1);
		if (n < 0)
			return fail((int) n, n == -EBADMSG ?
						"it is damaged or incomplete, or of another --compress" :
						strerror((int) -n), message);
		if (n < (long) piece)
			return fail(-EILSEQ, "it is shorter", message);
		if (n > (long) piece)
			return fail(-EILSEQ, "it is longer", message);
		if (memcmp(wanted, found, piece) != 0)
			return fail(-EILSEQ, "it has other content", message);
		done += piece;
	} while (n > 0);
	return 0;
}

/*
 * Has a file this content?  Returns 0; or with a message -EILSEQ if it has another one,
 * -EBADMSG if it is damaged, or another -errno.
 */
int
verify__same(const struct content *content, int fd, enum compress_method method,
			 char message[WAL_MESSAGE_BYTES])
{
	struct decompressor archived;
	int			err = decompress__begin(&archived, method, fd);

	if (err < 0)
		return fail(err, strerror(-err), message);
	err = compare(content, &archived, message);
	decompress__destroy(&archived);
	return err;
}

/* The "read" of a wal_source: the changed content. */
static long
read_changed(void *context, uint64_t lsn, void *out, size_t bytes)
{
	const struct changed *changed = context;
	int			err = content__read(changed->content, lsn - changed->lsn, out, bytes);

	return err < 0 ? err : (long) bytes;
}

/*
 * Is the content, with its changes, the segment without the images that were to be removed?
 * Returns 0; or with a message -EBADMSG if it is not, or another -errno.
 */
int
verify__segment(const struct content *content, const struct segment *segment,
				char message[WAL_MESSAGE_BYTES])
{
	struct segment found = *segment;
	struct edits edits = {0};
	struct changed changed = {content, segment->lsn};
	int			err = segment__scan(&found, (struct wal_source) {read_changed, &changed}, &edits,
									message);

	if (err == 0 &&
		(edits.count > 0 || found.counts.records != segment->counts.records ||
		 found.counts.images != segment->counts.images - segment->counts.images_removed ||
		 found.rest_crc != segment->rest_crc))
		err = fail(-EBADMSG, "it would have other records", message);
	edits__destroy(&edits);
	return err;
}
