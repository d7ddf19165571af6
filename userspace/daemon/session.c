/*
 * session.c
 *		Begins and ends the service of one recovery, and reports its progress to the server.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/watch.h"
#include "daemon/daemon_internal.h"

/*
 * Close a server's descriptors.  Closing the eventfd does not remove it from the epoll
 * set, because the server has it open, too.
 */
static void
close_server(struct daemon *daemon, struct handshake_offer *server)
{
	(void) epoll_ctl(daemon->epoll_fd, EPOLL_CTL_DEL, server->eventfd, NULL);
	(void) epoll_ctl(daemon->epoll_fd, EPOLL_CTL_DEL, server->socket, NULL);
	handshake__drop_offer(server);
}

/* Take over what the server knows and the engine does not. */
void
session__update(struct daemon *daemon, uint64_t replay_lsn)
{
	const struct session *session = &daemon->session;

	engine__counters(daemon->prefetch.engine)->refs_dropped = ring__dropped(&session->ring);
	daemon->prefetch.position = (struct prefetch_position)
	{
		.replay_lsn = replay_lsn,.exact = true,
			.decode_lsn = session__decode_lsn(session, replay_lsn),
	};
}

/* The server publishes its decode LSN only now and then; the other two bound it from below. */
uint64_t
session__decode_lsn(const struct session *session, uint64_t replay_lsn)
{
	uint64_t	lsn = ring__decode_lsn(&session->ring);

	if (lsn < replay_lsn)
		lsn = replay_lsn;
	return lsn < session->taken_lsn ? session->taken_lsn : lsn;
}

/* Publish the progress in the ring. */
void
session__publish(struct daemon *daemon, uint64_t now_us)
{
	struct prefetch *prefetch = &daemon->prefetch;
	const struct counters *counters = engine__counters(prefetch->engine);
	const struct control *control = engine__control(prefetch->engine);
	struct ring_progress progress = {
		.blocks_read = counters->blocks_read,
		.blocks_failed = counters__failed(counters),
		.blocks_stale = counters->blocks_stale,
		.in_flight = engine__state(prefetch->engine).in_flight,
		.busy_ns = (clock__cpu_us() - prefetch->begin_cpu_us) * 1000,
		.io_depth = control__depth(control),
		.readahead_limit = control->readahead_limit,
	};

	daemon->session.publish_us = now_us;
	ring__publish(&daemon->session.ring, &progress);
}

/* Begin to serve a recovery, or refuse it. */
void
session__connect(struct daemon *daemon, struct handshake_offer *offer)
{
	const struct redoahead_handshake *handshake = &offer->handshake;
	struct session *session = &daemon->session;
	struct handshake_verdict verdict = {.status = REDOAHEAD_ACCEPTED};
	struct relpath_layout layout = {
		.block_size = handshake->block_size,
		.segment_blocks = handshake->segment_blocks,
		.wal_segment_bytes = handshake->wal_segment_bytes,
		.timeline = handshake->timeline,
		.long_member_names = handshake->server_version / 10000 >= RELPATH_FIRST_LONG_MEMBERS,
	};
	const char *reason;

	/*
	 * The eventfd is watched for edges and never read: a read could block if
	 * the descriptor is something else.
	 */
	if (daemon->prefetch.runs)
		handshake__refuse(&verdict, REDOAHEAD_BUSY,
						  "another startup process is connected; wait for it to end");
	else if (ring__map(&session->ring, offer->memfd, handshake->ring_bytes, &reason) < 0)
		handshake__refuse(&verdict, REDOAHEAD_BAD_RING, "%s", reason);
	else if (watch__add(daemon->epoll_fd, offer->eventfd, EPOLLIN | EPOLLET) < 0)
		handshake__refuse(&verdict, REDOAHEAD_BAD_RING,
						  "the second descriptor is no eventfd; report a bug");
	else if (watch__add(daemon->epoll_fd, offer->socket, EPOLLIN | EPOLLRDHUP) < 0)
		handshake__refuse(&verdict, REDOAHEAD_BAD_RING,
						  "the daemon is out of memory; give it more");
	else if (heartbeat__begin(&session->heartbeat, &session->ring) < 0)
		handshake__refuse(&verdict, REDOAHEAD_BAD_RING,
						  "the daemon cannot create a thread; raise its limit of processes");

	if (verdict.status != REDOAHEAD_ACCEPTED)
	{
		listener__refuse(daemon->listener, offer->socket, &verdict);
		if (!daemon->prefetch.runs)
			ring__unmap(&session->ring);
		close_server(daemon, offer);
		return;
	}

	memcpy(layout.tablespace_dir, handshake->tablespace_dir, sizeof(layout.tablespace_dir));
	session->server = *offer;
	session->hung_up = false;
	session->work_us = session->publish_us = daemon->events_us = clock__now_us();
	session->taken_lsn = session->sleep_lsn = 0;
	/* At once, for the server waits: what follows may read from a busy disk. */
	listener__accept(daemon->listener, offer->socket);
	daemon->unloaded = false;
	prefetch__begin(&daemon->prefetch, &layout, offer->startup);
	log_info("recovery connected: server %u, ring of %" PRIu64 " references",
			 handshake->server_version, session->ring.capacity);
}

/* The recovery is no longer served: release all that belongs to it.  Returns 0 or -errno. */
int
session__disconnect(struct daemon *daemon)
{
	struct session *session = &daemon->session;
	bool		complete = session->hung_up && !ring__goes_on(&session->ring);

	session__update(daemon, ring__replay_lsn(&session->ring));
	/* First, for what follows may wait for a disk: a server that is not served must know. */
	heartbeat__end(&session->heartbeat);
	ring__unmap(&session->ring);
	close_server(daemon, &session->server);
	return prefetch__end(&daemon->prefetch, complete);
}
