/*
 * decompress.h
 *		Reads the content of a file that compress.h has written.
 */
#ifndef REDOAHEAD_LESSLOG_DECOMPRESS_H
#define REDOAHEAD_LESSLOG_DECOMPRESS_H

#include <lz4frame.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "lesslog/compress.h"

/* A file that is being read. */
struct decompressor
{
	enum compress_method method;
	int			fd;				/* the file */
	uint64_t	from;			/* where the next bytes are in it */
	ZSTD_DCtx  *zstd;			/* of this method, else NULL */
	LZ4F_dctx  *lz4;			/* likewise */
	char	   *in;				/* what was read from the file */
	size_t		in_at;			/* the first byte in there that was not decompressed */
	size_t		in_bytes;		/* how much is in there, bytes */
	bool		complete;		/* the frame has ended */
};

int			decompress__begin(struct decompressor *decompressor, enum compress_method method,
							  int fd);
long		decompress__read(struct decompressor *decompressor, void *out, size_t bytes);
void		decompress__destroy(struct decompressor *decompressor);

#endif							/* REDOAHEAD_LESSLOG_DECOMPRESS_H */
