/*
 * monitor_options.h
 *		The options of commands that a monitor watches.
 */
#ifndef REDOAHEAD_CMD_MONITOR_OPTIONS_H
#define REDOAHEAD_CMD_MONITOR_OPTIONS_H

#include <stddef.h>

#include "cmd/options.h"
#include "monitor/monitor.h"

/* Entries of a table of options; "values" is a type with a member struct monitor_options monitor. */
#define MONITOR_OPTIONS(values) \
	{"status-socket", "PATH", OPTION_TEXT, offsetof(values, monitor.status_socket), \
		.initial = MONITOR_DEFAULT_SOCKET, \
	.text = "socket on which `redoahead status` reads the state, relative to the data directory; " \
	"empty: none"}, \
	{"status-group", "GROUP", OPTION_TEXT, offsetof(values, monitor.status_group), \
	.text = "let this group read the state, too"}, \
	{"metrics", "FILE", OPTION_TEXT, offsetof(values, monitor.metrics), \
	.text = "keep metrics for Prometheus in FILE"}, \
	{"report", "DIRECTORY", OPTION_TEXT, offsetof(values, monitor.report), \
	.text = "write a page on each recovery to DIRECTORY"}

#endif							/* REDOAHEAD_CMD_MONITOR_OPTIONS_H */
