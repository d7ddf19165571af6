/*
 * serve_recovery.c
 *		Takes a server's recovery on, and lets go of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "cmd/serve_state.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/summary.h"

int
serve__watch(struct serve *serve, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events,.data.fd = fd};

	return epoll_ctl(serve->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/*
 * Let go of a server's descriptors.  The eventfd must leave the epoll set by
 * hand: the server has it open too, so that closing ours does not do it.
 */
static void
drop_server(struct serve *serve, struct listener_offer *server)
{
	(void) epoll_ctl(serve->epoll_fd, EPOLL_CTL_DEL, server->eventfd, NULL);
	(void) epoll_ctl(serve->epoll_fd, EPOLL_CTL_DEL, server->socket, NULL);
	listener__drop_offer(server);
}

/* Begin to serve a recovery, or tell its server why not. */
void
serve__connect(struct serve *serve, struct listener_offer *offer)
{
	struct handshake_verdict verdict = {.status = REDOAHEAD_ACCEPTED};
	struct relpath_layout layout = {
		.block_size = offer->handshake.block_size,
		.segment_blocks = offer->handshake.segment_blocks,
		.wal_segment_bytes = offer->handshake.wal_segment_bytes,
		.timeline = offer->handshake.timeline,
	};
	const char *reason;

	/*
	 * The eventfd is watched for edges and never read: a read could block if
	 * it is something else.
	 */
	if (serve->connected)
		handshake__refuse(&verdict, REDOAHEAD_BUSY,
					  "another startup process is connected; wait for it to end");
	else if (ring__map(&serve->ring, offer->memfd, offer->handshake.ring_bytes, &reason) < 0)
		handshake__refuse(&verdict, REDOAHEAD_BAD_RING, "%s", reason);
	else if (serve__watch(serve, offer->eventfd, EPOLLIN | EPOLLET) < 0)
		handshake__refuse(&verdict, REDOAHEAD_BAD_RING,
					  "the second descriptor is no eventfd; report a bug");
	else if (serve__watch(serve, offer->socket, EPOLLIN | EPOLLRDHUP) < 0)
		handshake__refuse(&verdict, REDOAHEAD_BAD_RING,
					  "the daemon is out of memory; give it more");

	if (verdict.status != REDOAHEAD_ACCEPTED)
	{
		listener__refuse(serve->listener, offer->socket, &verdict);
		if (!serve->connected)
			ring__unmap(&serve->ring);
		drop_server(serve, offer);
		return;
	}

	memcpy(layout.tablespace_dir, offer->handshake.tablespace_dir, sizeof(layout.tablespace_dir));
	serve->server = *offer;
	serve->connected = true;
	serve->hung_up = false;
	serve->recoveries++;
	serve->begin_us = clock__now_us();
	serve->begin_cpu_us = clock__cpu_us();
	serve->work_us = serve->events_us = serve->publish_us = serve->begin_us;
	serve->sample_us = 0;
	serve->taken_lsn = serve->sleep_lsn = 0;
	engine__begin(serve->config->engine, &layout);
	ring__beat(&serve->ring);
	listener__accept(serve->listener, offer->socket);
	log_info("recovery connected: server %u, ring of %" PRIu64 " references",
			 offer->handshake.server_version, serve->ring.capacity);
	serve__write_stats(serve);
}

/* The recovery is over: let go of all that belongs to it. */
int
serve__disconnect(struct serve *serve)
{
	struct engine *engine = serve->config->engine;
	int			err;

	err = engine__end(engine);
	serve__update_times(serve);
	summary__log(engine__counters(engine), ring__dropped(&serve->ring));
	serve->last = *engine__counters(engine);
	counters__add(&serve->ended, &serve->last);

	ring__unmap(&serve->ring);
	drop_server(serve, &serve->server);
	serve->connected = false;
	serve__write_stats(serve);
	return err;
}
