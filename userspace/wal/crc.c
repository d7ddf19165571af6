/*
 * crc.c
 *		CRC-32C (Castagnoli): of short buffers by the CPU's instruction, where it has one,
 *		and else by a library.
 *
 * Most records have less than a hundred bytes, for which a call of the library takes
 * longer.  Each instruction waits for the one before: no more than 8 bytes in three
 * cycles.  The library has several in flight, or multiplies long vectors: of a record
 * with page images, it is 3 to 12 times as fast.
 */
#include <isa-l/crc.h>
#include <stdbool.h>
#include <string.h>

#include "wal/crc.h"

#if defined(__x86_64__)
#include <nmmintrin.h>

#define HAVE_INSTRUCTION	1
#define INSTRUCTION			__attribute__((target("sse4.2")))
#define crc_of_8(crc, word)	((uint32_t) _mm_crc32_u64(crc, word))
#define crc_of_1(crc, byte)	_mm_crc32_u8(crc, byte)

static inline bool
cpu_has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

#define HAVE_INSTRUCTION	1
#define INSTRUCTION
#define crc_of_8(crc, word)	__crc32cd(crc, word)
#define crc_of_1(crc, byte)	__crc32cb(crc, byte)

static inline bool
cpu_has_instruction(void)
{
	return true;				/* this was compiled for it */
}
#endif

#ifdef HAVE_INSTRUCTION
/* Shortest buffer for which the library is faster, bytes. */
#define MIN_LIBRARY_BYTES	256

INSTRUCTION static uint32_t
add_by_instruction(uint32_t crc, const unsigned char *bytes, size_t size)
{
	for (; size >= 8; bytes += 8, size -= 8)
	{
		uint64_t	word;

		memcpy(&word, bytes, sizeof(word));
		crc = crc_of_8(crc, word);
	}
	for (; size > 0; bytes++, size--)
		crc = crc_of_1(crc, *bytes);
	return crc;
}
#endif

/* The CRC of what "crc" is of, and of "size" bytes (at most 2 GB) after it. */
uint32_t
crc__add(uint32_t crc, const void *bytes, size_t size)
{
#ifdef HAVE_INSTRUCTION
	if (size < MIN_LIBRARY_BYTES && cpu_has_instruction())
		return add_by_instruction(crc, bytes, size);
#endif
	/* The library does not write to the bytes. */
	return crc32_iscsi((unsigned char *) bytes, (int) size, crc);
}
