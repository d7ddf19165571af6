/*
 * variants.h
 *		The page transform as each machine has it, in one program.
 *
 * scripts/fpi/build compiles it twice: with the best instructions of the machine
 * that it is compiled for, and in plain C.
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
};

#endif							/* VARIANTS_H */
