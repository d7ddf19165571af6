/*
 * pg_compat.h
 *		What differs between major releases of PostgreSQL.
 *
 * The rest of the extension is written for the newest release and includes this.
 * Formats of WAL that differ are in common/wal_format.c, because the daemon needs
 * them, too.
 */
#ifndef REDOAHEAD_PG_COMPAT_H
#define REDOAHEAD_PG_COMPAT_H

#include "postgres.h"

#include "fmgr.h"
#include "storage/buf_internals.h"

/* PostgreSQL 17 has no place for the name and version of a module. */
#if PG_VERSION_NUM < 180000
#define PG_MODULE_MAGIC_EXT(...)	PG_MODULE_MAGIC
#endif

/*
 * Before PostgreSQL 19, setting a page's bits of the visibility map is a record of
 * its own; since then, prune records do it, with more flags.
 */
#define HAVE_HEAP2_VISIBLE	(PG_VERSION_NUM < 190000)

/*
 * PostgreSQL 19 has no list of free buffers.  The clock sweep comes to each of them
 * in its first pass.
 */
#if PG_VERSION_NUM >= 190000
static inline bool
have_free_buffer(void)
{
	uint32		passes;

	(void) StrategySyncStart(&passes, NULL);
	return passes == 0;
}
#endif

#endif							/* REDOAHEAD_PG_COMPAT_H */
