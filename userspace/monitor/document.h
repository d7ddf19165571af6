/*
 * document.h
 *		The status document.
 */
#ifndef REDOAHEAD_MONITOR_DOCUMENT_H
#define REDOAHEAD_MONITOR_DOCUMENT_H

#include <json-c/json.h>

#include "monitor/recovery.h"

/* What it is made of. */
struct document
{
	const char *command;		/* "serve" or "follow" */
	const char *pgdata;			/* data directory */
	int			major;			/* of the server, 0: unknown */
	uint64_t	uptime_us;		/* of this process, us */
	enum phase	phase;
	const struct recovery *present; /* or NULL */
	const struct recovery *last;	/* that ended, or NULL */
	const struct monitor_snapshot *snapshot;	/* the newest */
	const char *refused;		/* why a server is not served, or NULL */
};

struct json_object *document__create(const struct document *document);

#endif							/* REDOAHEAD_MONITOR_DOCUMENT_H */
