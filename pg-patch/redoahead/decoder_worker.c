/*
 * decoder_worker.c
 *		The decoder: a background worker that reads WAL in crash recovery, decodes it
 *		and looks ahead in it for the startup process (decoder.c).
 *
 * It uses the server's WAL reader and prefetcher, with the same routine as the startup
 * process would.  It ends where WAL cannot be read, and before records whose redo
 * depends on the reader or on files that change; those are for the startup process.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogprefetcher.h"
#include "access/xlogreader.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "decoder.h"

/* Bytes of WAL that are read at once. */
#define PIECE_BYTES			(128 * 1024)

/* Records that are handed over at once. */
#define RECORDS_PER_HANDOVER	16

/* Time to sleep when nothing more can be decoded, ms. */
#define SLEEP_MS			1

bool		decoder_is_this;

static struct
{
	bool		ending;			/* at WAL that is not handed over */
	XLogReaderState *reader;
	uint64		decoded;		/* records that are handed over, or will be */
	uint64		handed;
	int			fd;				/* of a WAL segment, or -1 */
	XLogSegNo	segment;
	XLogRecPtr	piece_lsn;		/* where the piece begins */
	int			piece_bytes;	/* 0: there is none */
	char		piece[PIECE_BYTES];
} self = {.fd = -1};

PGDLLEXPORT void redoahead_decoder_main(Datum arg);

/* Let the startup process have the records before the "end"-th one. */
static void
hand_over(uint64 end)
{
	Decoder    *d = decoder;

	outbox__publish(&d->outbox);
	if (end > self.handed)
	{
		self.handed = end;
		pg_write_barrier();
		pg_atomic_write_u64(&d->handed, end);
	}
}

/*
 * There are no more records: the startup process reads on after the last one.  It need not
 * wait until the look-ahead is complete.
 */
static void
end_run(void)
{
	self.ending = true;
	hand_over(self.decoded);
	pg_write_barrier();
	pg_atomic_write_u32(&decoder->ended, 1);
}

/* Open the segment that has the LSN. */
static bool
open_segment(XLogRecPtr lsn)
{
	XLogSegNo	segment;
	char		path[MAXPGPATH];

	XLByteToSeg(lsn, segment, wal_segment_size);
	if (self.fd >= 0 && segment == self.segment)
		return true;
	if (self.fd >= 0)
		close(self.fd);
	XLogFilePath(path, decoder->timeline, segment, wal_segment_size);
	self.fd = BasicOpenFile(path, O_RDONLY | PG_BINARY);
	self.segment = segment;
	self.piece_bytes = 0;
	return self.fd >= 0;
}

/* Read a page, for the reader.  Without a message: the startup process has its own. */
static int
read_page(XLogReaderState *reader, XLogRecPtr page_lsn, int wanted, XLogRecPtr target_lsn,
		  char *page)
{
	uint32		offset = XLogSegmentOffset(page_lsn, wal_segment_size);

	/* Nobody waits for more. */
	if (self.ending || ShutdownRequestPending || pg_atomic_read_u32(&decoder->stop) != 0 ||
		!open_segment(page_lsn))
	{
		end_run();
		return -1;
	}
	reader->seg.ws_tli = decoder->timeline;
	if (page_lsn < self.piece_lsn || page_lsn >= self.piece_lsn + self.piece_bytes)
	{
		uint32		start = offset - offset % PIECE_BYTES;
		ssize_t		got;

		pgstat_report_wait_start(WAIT_EVENT_WAL_READ);
		got = pg_pread(self.fd, self.piece, PIECE_BYTES, start);
		pgstat_report_wait_end();
		self.piece_lsn = page_lsn - offset % PIECE_BYTES;
		self.piece_bytes = Max(got, 0);
	}
	if (page_lsn + XLOG_BLCKSZ > self.piece_lsn + self.piece_bytes)
	{
		end_run();
		return -1;
	}
	memcpy(page, self.piece + (page_lsn - self.piece_lsn), XLOG_BLCKSZ);
	return XLOG_BLCKSZ;
}

/*
 * Is the record one that the startup process must read itself?  Its memory is not
 * shared if it does not fit into the decode buffer; redo of one that overwrites an
 * incomplete record consults the reader; and the others may change the timeline.
 */
static bool
ends_run(const DecodedXLogRecord *record)
{
	uint8		info = record->header.xl_info & ~XLR_INFO_MASK;

	return record->oversized || self.reader->latestPageTLI != decoder->timeline ||
		(record->header.xl_rmid == RM_XLOG_ID &&
		 (info == XLOG_CHECKPOINT_SHUTDOWN || info == XLOG_END_OF_RECOVERY ||
		  info == XLOG_OVERWRITE_CONTRECORD));
}

/* A record has been decoded; its references have not been passed yet. */
void
decoder_worker__decoded(const DecodedXLogRecord *record)
{
	Decoder    *d = decoder;

	if (!self.ending && ends_run(record))
		end_run();
	if (self.ending)
		return;
	d->records[self.decoded & d->mask] = unconstify(DecodedXLogRecord *, record);
	self.decoded++;
	/* This one and the one before have references that have not been passed. */
	if (self.decoded >= self.handed + RECORDS_PER_HANDOVER + 2)
		hand_over(self.decoded - 2);
}

/* Records before this one, or all that were decoded if it is NULL. */
static uint64
records_before(const DecodedXLogRecord *record)
{
	const Decoder *d = decoder;
	uint64		end = self.decoded;

	while (record && end > self.handed && d->records[(end - 1) & d->mask]->lsn >= record->lsn)
		end--;
	return end;
}

/* Decode until the startup process wants no more, or there is no more. */
static void
decode(XLogPrefetcher *prefetcher)
{
	Decoder    *d = decoder;
	XLogRecPtr	handed_lsn = d->previous_lsn;
	uint32		wait_event = WaitEventExtensionNew("RedoaheadDecoderMain");

	while (!ShutdownRequestPending && pg_atomic_read_u32(&d->stop) == 0)
	{
		XLogRecPtr	replayed_lsn = pg_atomic_read_u64(&d->replayed_lsn);
		const DecodedXLogRecord *open;

		/* What redo has read of these records, it has read before. */
		pg_memory_barrier();
		open = XLogPrefetcherLookAhead(prefetcher, replayed_lsn);
		if (self.ending)
			break;
		/* There was an error, or no memory to look ahead: the routine is not used. */
		if ((open == NULL && self.reader->errormsg_deferred) ||
			(self.decoded == 0 && self.reader->decode_queue_tail))
		{
			end_run();
			break;
		}
		/* A record with more references than the distance is never complete. */
		hand_over(replayed_lsn >= handed_lsn ? self.decoded : records_before(open));
		if (self.handed > 0)
			handed_lsn = d->records[(self.handed - 1) & d->mask]->lsn;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 SLEEP_MS, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* The process ends, for whatever reason. */
static void
at_exit(int code, Datum arg)
{
	Decoder    *d = decoder;

	pg_write_barrier();
	pg_atomic_write_u32(&d->ended, 1);
	/* Before "busy", after which another run may begin. */
	decoder__leave(DECODER_DECODER_LEFT);
	pg_memory_barrier();
	pg_atomic_write_u32(&d->busy, 0);
}

/* The background worker. */
void
redoahead_decoder_main(Datum arg)
{
	Decoder    *d = decoder;
	XLogPrefetcher *prefetcher;

	before_shmem_exit(at_exit, 0);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	decoder_is_this = true;
	d->pid = MyProcPid;
	self.reader = XLogReaderAllocate(wal_segment_size, NULL,
									 XL_ROUTINE(.page_read = read_page), NULL);
	if (self.reader == NULL)
		elog(ERROR, "redoahead decoder is out of memory");
	self.reader->system_identifier = GetSystemIdentifier();
	XLogReaderSetDecodeBuffer(self.reader, d->buffer, d->buffer_size);
	prefetcher = XLogPrefetcherAllocate(self.reader);

	/* Not a random access: the first record must link to the one before. */
	XLogBeginRead(self.reader, d->begin_lsn);
	self.reader->DecodeRecPtr = self.reader->ReadRecPtr = d->previous_lsn;
	decode(prefetcher);
	proc_exit(0);
}
