/*
 * client.h
 *		Reads the status document of a daemon.
 */
#ifndef REDOAHEAD_STATUS_CLIENT_H
#define REDOAHEAD_STATUS_CLIENT_H

#include <json-c/json.h>

/* Size of a document, at most, bytes. */
#define CLIENT_MAX_BYTES		(1024 * 1024)

/* Room for the reason why there is none, bytes. */
#define CLIENT_MESSAGE_BYTES	512

int			client__read(const char *path, unsigned timeout_ms, struct json_object **json,
						 char message[CLIENT_MESSAGE_BYTES]);

#endif							/* REDOAHEAD_STATUS_CLIENT_H */
