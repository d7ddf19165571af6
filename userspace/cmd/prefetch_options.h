/*
 * prefetch_options.h
 *		The options of the commands that prefetch for recoveries.
 */
#ifndef REDOAHEAD_CMD_PREFETCH_OPTIONS_H
#define REDOAHEAD_CMD_PREFETCH_OPTIONS_H

#include <stddef.h>

#include "base/status_document.h"
#include "cmd/options.h"
#include "engine/setup.h"
#include "prefetch/prefetch.h"

/* Entries of a table of options; "values" is a type with a member struct prefetch_options prefetch. */
#define PREFETCH_OPTIONS(values) \
	{"io-depth", "BLOCKS", OPTION_INTEGER, offsetof(values, prefetch.io_depth), 1, 4096, \
		SETUP_IO_DEPTH, \
	.text = "most blocks in flight"}, \
	{"readahead-limit", "BLOCKS", OPTION_INTEGER, offsetof(values, prefetch.readahead_limit), \
		1, 1048576, SETUP_READAHEAD_LIMIT, \
	.text = "most blocks read ahead of redo"}, \
	{"files", "FILES", OPTION_INTEGER, offsetof(values, prefetch.files), 1, 1000000, SETUP_FILES, \
	.text = "most data files kept open, fewer if the limit of the process is lower"}, \
	{"backend", "auto|io_uring|fadvise", OPTION_CHOICE, offsetof(values, prefetch.backend), \
		.initial = "auto", \
	.text = "how to read; auto is the first that works"}, \
	{"block-log", "FILE", OPTION_TEXT, offsetof(values, prefetch.block_log), \
	.text = "write a line for each block to FILE"}, \
	{"stats", "FILE", OPTION_TEXT, offsetof(values, prefetch.statistics), \
	.text = "keep all counters in FILE, as JSON"}, \
	{"timeline", "FILE", OPTION_TEXT, offsetof(values, prefetch.timeline), \
	.text = "write a line for each tenth of a second of a recovery to FILE"}, \
	{"status-socket", "PATH", OPTION_TEXT, offsetof(values, prefetch.monitor.status_socket), \
		.initial = STATUS_DOCUMENT_SOCKET, \
	.text = "socket on which `redoahead status` reads the state, relative to the data directory; " \
	"empty: none"}, \
	{"status-group", "GROUP", OPTION_TEXT, offsetof(values, prefetch.monitor.status_group), \
	.text = "let this group read the state, too"}, \
	{"metrics", "FILE", OPTION_TEXT, offsetof(values, prefetch.monitor.metrics), \
	.text = "keep metrics for Prometheus in FILE"}, \
	{"report", "DIRECTORY", OPTION_TEXT, offsetof(values, prefetch.monitor.report), \
	.text = "write a page on each recovery to DIRECTORY"}

#endif							/* REDOAHEAD_CMD_PREFETCH_OPTIONS_H */
