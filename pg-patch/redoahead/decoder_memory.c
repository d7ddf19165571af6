/*
 * decoder_memory.c
 *		The memory that startup process and decoder share.
 *
 * It is reserved when the library is preloaded, so that all processes have it at the
 * same address: decoded records have pointers.  A Decoder comes first and stays; the
 * rest is divided anew for each run, and takes no memory between them.
 */
#include "postgres.h"

#include <sched.h>
#include <sys/mman.h>

#include "miscadmin.h"

#include "decoder.h"
#include "settings.h"

/* Alignment of the parts of the memory: that of a huge page, bytes. */
#define PART_ALIGNMENT		(2 * 1024 * 1024)

Decoder    *decoder;

/* The rest of the memory: "size" bytes after the Decoder. */
static char *memory;
static size_t memory_size;
static bool unusable;			/* it crashed, or memory is not zero again */

/* Sizes of the parts of the memory, all of which begin with zeros. */
typedef struct Layout
{
	size_t		buffer;
	size_t		records;
	size_t		refs;
	size_t		outbox;
	size_t		recent;
	uint64		record_count;
	uint32		ref_count;
	uint32		blocks;
} Layout;

static Layout
layout(int distance, size_t buffer_size, uint32 blocks)
{
	Layout		l = {.ref_count = 1024,.record_count = 1024,.blocks = blocks};

	while (l.ref_count < (uint32) distance + XLR_MAX_BLOCK_ID)
		l.ref_count *= 2;
	/* All records that the buffer can hold. */
	while (l.record_count < buffer_size / offsetof(DecodedXLogRecord, blocks))
		l.record_count *= 2;
	l.buffer = TYPEALIGN(PART_ALIGNMENT, buffer_size);
	l.records = TYPEALIGN(PART_ALIGNMENT, l.record_count * sizeof(DecodedXLogRecord *));
	l.refs = TYPEALIGN(PART_ALIGNMENT, l.ref_count * sizeof(PendingRef));
	l.outbox = TYPEALIGN(PART_ALIGNMENT, l.ref_count * sizeof(struct redoahead_ref));
	l.recent = TYPEALIGN(PART_ALIGNMENT, recent_blocks__bytes(blocks));
	return l;
}

static size_t
layout_size(const Layout *l)
{
	return l->buffer + l->records + l->refs + l->outbox + l->recent;
}

/*
 * Reserve the memory, when the library is preloaded: all processes inherit it.  It
 * takes none until it is used.
 */
void
decoder__init(void)
{
	size_t		control = TYPEALIGN(PART_ALIGNMENT, sizeof(Decoder));
	cpu_set_t	cpus;
	Layout		l;
	char	   *mapping;

	if (!redoahead_decoder)
		return;
	/* There is nothing to gain. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2)
	{
		ereport(LOG,
				(errmsg("redoahead: there is one CPU, so no decoder is used; the startup process decodes WAL itself")));
		return;
	}

	l = layout(redoahead_lookahead, redoahead_decode_buffer_size * (size_t) 1024,
			   prefetcher__max_recent_blocks(redoahead_lookahead));
	memory_size = layout_size(&l);
	mapping = mmap(NULL, control + memory_size, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
	{
		ereport(LOG,
				(errmsg("redoahead: could not reserve %zu bytes of shared memory for the decoder: %m; the startup process decodes WAL itself",
						control + memory_size)));
		return;
	}
	decoder = (Decoder *) mapping;
	memory = mapping + control;
	(void) madvise(memory, memory_size, MADV_HUGEPAGE);
}

/* Give the memory back to the system.  It reads as zeros then. */
static void
release_memory(void)
{
	if (madvise(memory, memory_size, MADV_REMOVE) == 0 || unusable)
		return;
	unusable = true;
	ereport(LOG,
			(errmsg("redoahead: could not release the decoder's memory: %m; the startup process decodes WAL itself")));
}

/*
 * Also called when the postmaster begins anew after a crash.  If there was a decoder then,
 * it may have been what crashed, and could again and again: do without from now on.
 */
void
decoder__shmem_init(void)
{
	if (!decoder || IsUnderPostmaster)
		return;
	if (pg_atomic_read_u32(&decoder->busy) != 0 && decoder->pid != 0 && !unusable)
	{
		unusable = true;
		ereport(LOG,
				(errmsg("redoahead: the decoder (PID %d) was running when a process crashed; the startup process decodes WAL itself until the server is restarted",
						decoder->pid)));
	}
	memset(decoder, 0, sizeof(*decoder));
	release_memory();
}

/* Inherited from the postmaster, which has seen the crash. */
bool
decoder__is_usable(void)
{
	return !unusable;
}

/* A process has left the memory: the last one gives it back. */
void
decoder__leave(uint32 who)
{
	uint32		before;

	if (pg_atomic_read_u32(&decoder->left) & who)
		return;
	before = pg_atomic_fetch_or_u32(&decoder->left, who);
	if ((before | who) == (DECODER_STARTUP_LEFT | DECODER_DECODER_LEFT))
		release_memory();
}

/* Take the next part of the memory. */
static void *
part(char **cursor, size_t size)
{
	char	   *start = *cursor;

	*cursor += size;
	return start;
}

/*
 * Divide the memory for a run that looks ahead "distance" references, with a decode
 * buffer of so many bytes and a recent-block cache for so many blocks.  All that the
 * Decoder had is lost.  Returns false, and changes nothing, if that is more than was
 * reserved.
 */
bool
decoder__allocate(int distance, size_t buffer_size, uint32 blocks)
{
	Decoder    *d = decoder;
	Layout		l = layout(distance, buffer_size, blocks);
	char	   *cursor = memory;

	if (layout_size(&l) > memory_size)
		return false;

	release_memory();
	if (unusable)
		return false;
	memset(d, 0, sizeof(*d));
	d->distance = distance;
	d->buffer_size = buffer_size;
	d->buffer = part(&cursor, l.buffer);
	d->records = part(&cursor, l.records);
	d->mask = l.record_count - 1;
	d->outbox.refs = part(&cursor, l.outbox);
	d->outbox.mask = l.ref_count - 1;
	d->prefetcher.lookahead.refs = part(&cursor, l.refs);
	d->prefetcher.lookahead.mask = l.ref_count - 1;
	recent_blocks__init(&d->prefetcher.recent, part(&cursor, l.recent), l.blocks);
	d->prefetcher.outbox = &d->outbox;
	d->prefetcher.distance = distance;
	return true;
}
