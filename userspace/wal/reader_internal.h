/*
 * reader_internal.h
 *		What the reader's files share.
 */
#ifndef REDOAHEAD_WAL_READER_INTERNAL_H
#define REDOAHEAD_WAL_READER_INTERNAL_H

#include "wal/reader.h"

/* Read at once, bytes: fits into the CPU's second-level cache, and holds a page. */
#define READER_BUFFER_BYTES	(128 * 1024)

int			wal_reader__end(struct wal_reader *reader, const char *format,...)
			__attribute__((format(printf, 2, 3)));
int			wal_reader__load_page(struct wal_reader *reader, uint64_t lsn,
								  const unsigned char **page);

/* Drop what was read: the file may be replaced by another one. */
static inline void
wal_reader__drop(struct wal_reader *reader)
{
	reader->buffer_bytes = 0;
	reader->segment_known = false;
}

/* Is the page at "start" in the buffer? */
static inline bool
wal_reader__has_page(const struct wal_reader *reader, uint64_t start)
{
	return start >= reader->buffer_lsn &&
		start + reader->options.page_bytes <= reader->buffer_lsn + reader->buffer_bytes;
}

/*
 * Get the page that "lsn" is on; its header is verified when its first byte is needed.
 * Returns WAL_READER_RECORD, or WAL_READER_END or -errno with a message.
 */
static inline int
wal_reader__get_page(struct wal_reader *reader, uint64_t lsn, const unsigned char **page)
{
	uint64_t	start = lsn - lsn % reader->options.page_bytes;

	if (lsn == start || reader->timeline == 0 || !wal_reader__has_page(reader, start))
		return wal_reader__load_page(reader, lsn, page);
	*page = reader->buffer + (start - reader->buffer_lsn);
	return WAL_READER_RECORD;
}

#endif							/* REDOAHEAD_WAL_READER_INTERNAL_H */
