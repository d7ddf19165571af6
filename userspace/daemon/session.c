/*
 * session.c
 *		Begins and ends the service of one recovery.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/watch.h"
#include "daemon/daemon_internal.h"
#include "engine/residency.h"
#include "report/summary.h"

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

/* The server publishes its decode LSN only now and then; the other two bound it from below. */
uint64_t
session__decode_lsn(const struct session *session, uint64_t replay_lsn)
{
	uint64_t	lsn = ring__decode_lsn(&session->ring);

	if (lsn < replay_lsn)
		lsn = replay_lsn;
	return lsn < session->taken_lsn ? session->taken_lsn : lsn;
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
	bool		residency_works;
	const char *reason;

	/*
	 * The eventfd is watched for edges and never read: a read could block if
	 * the descriptor is something else.
	 */
	if (session->connected)
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
		if (!session->connected)
			ring__unmap(&session->ring);
		close_server(daemon, offer);
		return;
	}

	memcpy(layout.tablespace_dir, handshake->tablespace_dir, sizeof(layout.tablespace_dir));
	session->server = *offer;
	session->connected = true;
	session->hung_up = false;
	session->begin_us = session->work_us = session->publish_us = clock__now_us();
	session->monitor_us = 0;
	session->begin_cpu_us = clock__cpu_us();
	session->taken_lsn = session->sleep_lsn = 0;
	session->readers = (struct readers) {0};
	daemon->outputs.sample_us = 0;
	daemon->events_us = session->begin_us;
	daemon->recoveries++;
	/* At once, for the server waits: what follows may read from a busy disk. */
	listener__accept(daemon->listener, offer->socket);
	residency_works = residency__works(daemon->cluster.dirfd, layout.tablespace_dir);
	engine__begin(daemon->engine, &layout, residency_works);
	notify__status("prefetching for a recovery");
	log_info("recovery connected: server %u, ring of %" PRIu64 " references",
			 handshake->server_version, session->ring.capacity);
	if (!residency_works)
		log_info("cannot check whether blocks are in the page cache, on this kernel or the file "
				 "system of the data directory or a tablespace; blocks evicted before redo are not "
				 "read again");
	status__write_statistics(daemon);
}

/* The recovery has ended: release all that belongs to it.  Returns 0 or -errno. */
int
session__disconnect(struct daemon *daemon)
{
	struct session *session = &daemon->session;
	const struct counters *counters = engine__counters(daemon->engine);
	struct monitor_snapshot snapshot;
	int			err;

	err = engine__end(daemon->engine);
	status__snapshot(daemon, &snapshot);
	summary__log(counters);
	monitor__end(daemon->monitor, &snapshot, engine__relations(daemon->engine),
				 session->hung_up || !daemon->stop);
	daemon->last = *counters;
	counters__add(&daemon->ended, counters);

	heartbeat__end(&session->heartbeat);
	ring__unmap(&session->ring);
	close_server(daemon, &session->server);
	session->connected = false;
	if (!daemon->stop)
		notify__status("waiting for a recovery");
	status__write_statistics(daemon);
	return err;
}
