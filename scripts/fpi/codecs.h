/*
 * codecs.h
 *		Ways to compress a full-page image, as the server has them.
 */
#ifndef CODECS_H
#define CODECS_H

#include "postgres_fe.h"

#include "variants.h"

/* The most that any method may leave while it is at work, in bytes */
#define FPI_MAX_IMAGE	(2 * BLCKSZ + 4096)

/* A page, and its hole as full-page images leave it out, in bytes */
typedef struct FpiPage
{
	char	   *bytes;			/* all BLCKSZ of them */
	int			hole_offset;
	int			hole_length;
} FpiPage;

/* How an image is stored */
typedef enum FpiForm
{
	FPI_PLAIN,					/* not compressed */
	FPI_COMPRESSED,				/* the image itself, compressed */
	FPI_TRANSFORMED,			/* the stream of its page, compressed */
} FpiForm;

/* What the WAL would have of a page */
typedef struct FpiImage
{
	char	   *bytes;			/* room for FPI_MAX_IMAGE */
	int			length;			/* bytes */
	FpiForm		form;
	int			hole_offset;	/* of the page, bytes */
	int			hole_length;
} FpiImage;

typedef struct FpiMethod
{
	const char *name;			/* as wal_compression would have it; "fresh" makes
								 * contexts for each image */
	/* both return the length of what they made, in bytes, 0 if it doesn't fit */
	int			(*compress) (const char *from, int length, char *to, int room, int level);
	int			(*decompress) (const char *from, int length, char *to, int room);
	int			level;
	const TransformVariant *transform;	/* what comes before, or NULL */
} FpiMethod;

extern const FpiMethod codecs__methods[];
extern const int codecs__nmethods;

/* Make the contexts that are reused.  To be called once, before all others. */
extern void codecs__start(void);

/* Find the hole of a page, as XLogRecordAssemble() does. */
extern void codecs__find_hole(FpiPage *page);

/* Make the image of a page. */
extern void codecs__compress(const FpiMethod *method, const FpiPage *page, FpiImage *image);

/* Make the page of an image, of BLCKSZ bytes; false if the image is damaged. */
extern bool codecs__decompress(const FpiMethod *method, const FpiImage *image, char *page);

#endif							/* CODECS_H */
