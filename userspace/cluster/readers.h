/*
 * readers.h
 *		Do sessions of a server read beside redo?
 */
#ifndef REDOAHEAD_CLUSTER_READERS_H
#define REDOAHEAD_CLUSTER_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"

struct readers
{
	uint64_t	checked_us;		/* time of the last check, us; 0: none */
	uint64_t	pause_us;		/* from that to the next one, us */
	uint64_t	active_us;		/* when a session has read from a device last, us */
	uint64_t	read_bytes;		/* by all sessions, bytes */
	uint64_t	server_us;		/* time of the last check of the server, us; 0: none */
	bool		ready;			/* it takes connections */
	bool		judged;			/* whether sessions can be seen is known, and was logged if not */
};

bool		readers__of_server(struct readers *readers, const struct cluster *cluster, uint64_t now_us);
bool		readers__active(struct readers *readers, const struct cluster *cluster, bool allowed,
							uint64_t now_us);
uint64_t	readers__pause_us(uint64_t check_us);

#endif							/* REDOAHEAD_CLUSTER_READERS_H */
