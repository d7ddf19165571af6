/*
 * decoder.h
 *		A process that reads, decodes and looks ahead for the startup process.
 */
#ifndef REDOAHEAD_DECODER_H
#define REDOAHEAD_DECODER_H

#include "postgres.h"

#include "access/xlogreader.h"
#include "port/atomics.h"

#include "outbox.h"
#include "prefetcher.h"

/* Processes that have left the memory of a run; the last one frees it. */
#define DECODER_STARTUP_LEFT	0x1
#define DECODER_DECODER_LEFT	0x2

/*
 * The shared memory of both processes, at the same address in each.  A run begins where
 * the startup process has looked ahead to, and ends where the decoder cannot go on.
 */
typedef struct Decoder
{
	/* Set before a run begins. */
	XLogRecPtr	begin_lsn;		/* end of the record before the first one */
	XLogRecPtr	previous_lsn;	/* start of that record */
	TimeLineID	timeline;		/* of all pages of a run */
	int			distance;		/* block references to look ahead */
	size_t		buffer_size;	/* of the decode buffer, bytes */
	char	   *buffer;			/* the decode buffer */
	DecodedXLogRecord **records;	/* decoded records, circular, mask + 1 entries */
	uint64		mask;

	/* Written by the startup process. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	pg_atomic_uint64 replayed_lsn;	/* start of the last record released */
	pg_atomic_uint32 stop;		/* the run is over: decode no more */

	/* Written by the decoder. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	pg_atomic_uint64 handed;	/* records handed over */
	pg_atomic_uint32 ended;		/* there will be no more */
	pg_atomic_uint32 busy;		/* it has been requested, and has not exited */
	int			pid;			/* its process id, 0 before it runs */

	/* Written by both: who has left the memory. */
	pg_atomic_uint32 left;

	/* References that the startup process puts into the ring. */
	Outbox		outbox;

	/* Its decoding half is the decoder's, its replaying half the startup process's. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	Prefetcher	prefetcher;
} Decoder;

extern Decoder *decoder;		/* NULL if there can't be one */

extern void decoder__init(void);
extern void decoder__shmem_init(void);
extern bool decoder__allocate(int distance, size_t buffer_size, uint32 blocks);
extern void decoder__leave(uint32 who);
extern bool decoder__is_usable(void);
extern bool decoder__hand_over(Prefetcher *p, const XLogReaderState *reader);
extern DecodedXLogRecord *decoder__take(Prefetcher *p, XLogReaderState *reader);
extern Prefetcher *decoder__replaying(Prefetcher *p);
extern XLogRecPtr decoder__decode_lsn(const Prefetcher *p);
extern void decoder__submit(Prefetcher *p);
extern void decoder__stop(Prefetcher *p);
extern void decoder__configured(const Prefetcher *p);
extern void decoder__reset(Prefetcher *p);
extern void decoder__shutdown(Prefetcher *p);

/* The rest is for the process itself. */
extern bool decoder_is_this;	/* this process is the decoder */
extern void decoder_worker__decoded(const DecodedXLogRecord *record);

#endif							/* REDOAHEAD_DECODER_H */
