/*
 * settings.c
 *		The settings of the redoahead extension.
 */
#include "postgres.h"

#include "access/xlogprefetcher.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "common/redoahead_abi.h"
#include "settings.h"

char	   *redoahead_socket;
int			redoahead_lookahead;
int			redoahead_decode_buffer_size;
int			redoahead_prefault;
bool		redoahead_decoder;
bool		redoahead_defer_checkpoint;
uint32		redoahead_connection_changes;

/* A reload also assigns values that haven't changed; the hooks ignore those. */

static void
assign_lookahead(int newval, void *extra)
{
	if (AmStartupProcess() && newval != redoahead_lookahead)
		XLogPrefetchReconfigure();
}

static void
assign_decode_buffer_size(int newval, void *extra)
{
	if (AmStartupProcess() && newval != redoahead_decode_buffer_size)
		XLogPrefetchReconfigure();
}

static void
assign_socket(const char *newval, void *extra)
{
	if (AmStartupProcess() && redoahead_socket &&
		strcmp(newval, redoahead_socket) != 0)
		redoahead_connection_changes++;
}

/* Define the settings; to be called when the library is preloaded. */
void
settings__init(void)
{
	DefineCustomStringVariable("redoahead.socket",
							   "Unix socket of the redoahead daemon.",
							   "A relative path is relative to the data directory. "
							   "An empty string turns redoahead off.",
							   &redoahead_socket,
							   REDOAHEAD_DEFAULT_SOCKET,
							   PGC_SIGHUP, 0,
							   NULL, assign_socket, NULL);
	DefineCustomIntVariable("redoahead.lookahead",
							"Block references to look ahead in the WAL at most.",
							NULL,
							&redoahead_lookahead,
							262144, 64, 1024 * 1024,
							PGC_SIGHUP, 0,
							NULL, assign_lookahead, NULL);
	DefineCustomIntVariable("redoahead.decode_buffer_size",
							"Size of the WAL decode buffer once a daemon has been connected.",
							"Used if larger than wal_decode_buffer_size.",
							&redoahead_decode_buffer_size,
							32 * 1024, 512, 1024 * 1024,
							PGC_SIGHUP, GUC_UNIT_KB,
							NULL, assign_decode_buffer_size, NULL);
	DefineCustomIntVariable("redoahead.prefault",
							"Shared buffers to allocate memory for ahead of redo.",
							"0 leaves it to the page faults of the startup process.",
							&redoahead_prefault,
							64, 0, 1024,
							PGC_POSTMASTER, GUC_UNIT_MB,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("redoahead.decoder",
							 "Decodes WAL in a background worker in crash recovery.",
							 "Used once a daemon has been connected.",
							 &redoahead_decoder,
							 false,
							 PGC_POSTMASTER, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("redoahead.defer_checkpoint",
							 "Accepts connections before the checkpoint after crash recovery.",
							 NULL,
							 &redoahead_defer_checkpoint,
							 true,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	MarkGUCPrefixReserved("redoahead");
}
