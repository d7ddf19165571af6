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

typedef int32 TransformEncode(const char *page, uint32 block_size, uint16 hole_offset,
							  uint16 hole_length, char *dst, uint32 capacity,
							  PageTransformScratch *scratch);
typedef int TransformDecode(const char *src, uint32 src_len, char *page, uint32 block_size,
							uint16 hole_offset, uint16 hole_length,
							PageTransformScratch *scratch);

extern TransformEncode page_transform_encode_c;
extern TransformDecode page_transform_decode_c;
#ifdef TRANSFORM_AVX2
extern TransformEncode page_transform_encode_avx2;
extern TransformDecode page_transform_decode_avx2;
#endif

typedef struct TransformVariant
{
	const char *name;
	TransformEncode *encode;
	TransformDecode *decode;
} TransformVariant;

static const TransformVariant transform_variants[] = {
	{"vectors", page_transform_encode, page_transform_decode},
	{"c", page_transform_encode_c, page_transform_decode_c},
#ifdef TRANSFORM_AVX2
	{"avx2", page_transform_encode_avx2, page_transform_decode_avx2},
#endif
};

#endif							/* VARIANTS_H */
