/*
 * handshake.h
 *		The ring, and the message by which the daemon gets it.
 */
#ifndef REDOAHEAD_HANDSHAKE_H
#define REDOAHEAD_HANDSHAKE_H

#include "connection.h"

extern int	handshake__create_ring(Connection *c);
extern bool handshake__send(Connection *c, int ring_fd);

#endif							/* REDOAHEAD_HANDSHAKE_H */
