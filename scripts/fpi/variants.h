/*
 * variants.h
 *		The page transform as each machine has it, in one program.
 *
 * scripts/fpi/build compiles it twice: as PostgreSQL does, with SSE2 or NEON, and in
 * plain C; and once more with AVX2 where TRANSFORM_AVX2 is defined.
 */
#ifndef VARIANTS_H
#define VARIANTS_H

#include "common/page_transform.h"

extern int32 page_transform_encode_c(const char *page, uint32 block_size, uint16 hole_offset,
									 uint16 hole_length, char *dst, uint32 capacity,
									 PageTransformScratch *scratch);
extern int	page_transform_decode_c(const char *src, uint32 src_len, char *page,
									uint32 block_size, uint16 hole_offset, uint16 hole_length,
									PageTransformScratch *scratch);

#ifdef TRANSFORM_AVX2
extern int32 page_transform_encode_avx2(const char *page, uint32 block_size,
										uint16 hole_offset, uint16 hole_length, char *dst,
										uint32 capacity, PageTransformScratch *scratch);
extern int	page_transform_decode_avx2(const char *src, uint32 src_len, char *page,
									   uint32 block_size, uint16 hole_offset,
									   uint16 hole_length, PageTransformScratch *scratch);
#endif

typedef struct TransformVariant
{
	const char *name;
	int32		(*encode) (const char *page, uint32 block_size, uint16 hole_offset,
						   uint16 hole_length, char *dst, uint32 capacity,
						   PageTransformScratch *scratch);
	int			(*decode) (const char *src, uint32 src_len, char *page, uint32 block_size,
						   uint16 hole_offset, uint16 hole_length,
						   PageTransformScratch *scratch);
} TransformVariant;

static const TransformVariant transform_variants[] = {
	{"vectors", page_transform_encode, page_transform_decode},
	{"c", page_transform_encode_c, page_transform_decode_c},
#ifdef TRANSFORM_AVX2
	{"avx2", page_transform_encode_avx2, page_transform_decode_avx2},
#endif
};

#endif							/* VARIANTS_H */
