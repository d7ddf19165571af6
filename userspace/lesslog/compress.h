/*
 * compress.h
 *		Writes a file compressed, in one of several ways.
 */
#ifndef REDOAHEAD_LESSLOG_COMPRESS_H
#define REDOAHEAD_LESSLOG_COMPRESS_H

#include <lz4frame.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/* Levels of zstd that --compress takes, and the one without a number. */
#define COMPRESS_MIN_LEVEL		1
#define COMPRESS_MAX_LEVEL		19
#define COMPRESS_DEFAULT_LEVEL	3

enum compress_method
{
	COMPRESS_NONE,				/* the content as it is */
	COMPRESS_LZ4,				/* a frame of lz4 */
	COMPRESS_ZSTD				/* a frame of zstd */
};

/* A file that is being written. */
struct compressor
{
	enum compress_method method;
	int			fd;				/* the file */
	uint64_t	written;		/* bytes that are in it */
	ZSTD_CCtx  *zstd;			/* of this method, else NULL */
	LZ4F_cctx  *lz4;			/* likewise */
	char	   *out;			/* what has been compressed */
	size_t		room;			/* how much fits in there, bytes */
};

int			compress__begin(struct compressor *compressor, enum compress_method method, int level,
							int fd, uint64_t content_bytes);
int			compress__add(struct compressor *compressor, const void *bytes, size_t count);
int			compress__end(struct compressor *compressor);
void		compress__destroy(struct compressor *compressor);

#endif							/* REDOAHEAD_LESSLOG_COMPRESS_H */
