/*
 * status_document.h
 *		What the writer of the status document and its readers must agree on.
 */
#ifndef REDOAHEAD_BASE_STATUS_DOCUMENT_H
#define REDOAHEAD_BASE_STATUS_DOCUMENT_H

/* Its version: a reader refuses others. */
#define STATUS_DOCUMENT_VERSION		1

/* The socket that it is read from by default, relative to the data directory. */
#define STATUS_DOCUMENT_SOCKET		"pg_stat_tmp/redoahead-status.sock"

#endif							/* REDOAHEAD_BASE_STATUS_DOCUMENT_H */
