/*
 * images.c
 *		Counts of the full-page images that the server writes, and the function
 *		behind the view pg_stat_redoahead_images.
 *
 * Each process counts what it writes to WAL, by compression method, in shared
 * memory.  The counters are reset when the server starts.  Images that are
 * replayed are not counted.  The patched server compresses images, not this file.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogrecord.h"
#include "common/wal_compression.h"
#include "fmgr.h"
#include "funcapi.h"
#include "port/atomics.h"
#include "storage/shmem.h"
#include "utils/builtins.h"

#include "stats.h"

/* The bits of bimg_info that hold the method, as an index. */
#define METHOD_INDEX(bimg_info) ((bimg_info) >> 2)
#define METHOD_INFO(index)		((index) << 2)
#define NMETHODS				(METHOD_INDEX(UINT8_MAX) + 1)

StaticAssertDecl(METHOD_INDEX(BKPIMAGE_HAS_HOLE | BKPIMAGE_APPLY) == 0,
				 "the other bits must be the lowest");

typedef struct ImageCounters
{
	pg_atomic_uint64 images;
	pg_atomic_uint64 page_bytes;	/* without the hole, before compression */
	pg_atomic_uint64 stored_bytes;	/* in WAL */
} ImageCounters;

static ImageCounters *counters; /* NMETHODS of them */

PG_FUNCTION_INFO_V1(pg_stat_redoahead_images);

static void
count_image(uint8 bimg_info, uint16 page_len, uint16 stored_len)
{
	ImageCounters *c = &counters[METHOD_INDEX(bimg_info)];

	pg_atomic_fetch_add_u64(&c->images, 1);
	pg_atomic_fetch_add_u64(&c->page_bytes, page_len);
	pg_atomic_fetch_add_u64(&c->stored_bytes, stored_len);
}

/* Bytes of shared memory that the counters need. */
Size
images__shmem_size(void)
{
	return MAXALIGN(NMETHODS * sizeof(ImageCounters));
}

/* Find or create the counters, and start counting.  The caller holds the lock. */
void
images__shmem_init(void)
{
	bool		found;

	counters = ShmemInitStruct("redoahead images", images__shmem_size(), &found);
	for (int i = 0; !found && i < NMETHODS; i++)
	{
		pg_atomic_init_u64(&counters[i].images, 0);
		pg_atomic_init_u64(&counters[i].page_bytes, 0);
		pg_atomic_init_u64(&counters[i].stored_bytes, 0);
	}
	xlog_image_hook = count_image;
}

/* The rows of pg_stat_redoahead_images: one for each method with images. */
Datum
pg_stat_redoahead_images(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	if (!counters)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("redoahead is not loaded"),
				 errhint("Add \"redoahead\" to \"shared_preload_libraries\" and restart the server.")));

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < NMETHODS; i++)
	{
		Datum		values[4];
		bool		nulls[4] = {0};
		uint64		images = pg_atomic_read_u64(&counters[i].images);

		if (images == 0)
			continue;
		values[0] = CStringGetTextDatum(wal_image_name(METHOD_INFO(i)));
		values[1] = Int64GetDatum(images);
		values[2] = Int64GetDatum(pg_atomic_read_u64(&counters[i].page_bytes));
		values[3] = Int64GetDatum(pg_atomic_read_u64(&counters[i].stored_bytes));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
