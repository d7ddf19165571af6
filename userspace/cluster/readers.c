/*
 * readers.c
 *		Do sessions of a server read beside redo?
 *
 * They do if one has read from a device within the last seconds.  Sessions are
 * all children of the postmaster that are not one of its own processes, as their titles
 * have it: those of clients, those that send a base backup or WAL, and the I/O workers,
 * which read for sessions and not for redo.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/processes.h"
#include "cluster/readers.h"
#include "cluster/serverstate.h"

/* Time between two checks, us. */
#define CHECK_US		250000

/*
 * A check reads two files of each session, some 25 us.  A server with thousands of them is
 * checked less often, so that this takes a fiftieth of the time, but at least this often, us.
 */
#define CHECK_SHARE		50
#define LONGEST_US		2500000

/* What was read within this time counts, us; so long, too, after sessions become possible. */
#define ACTIVE_US		5000000

/* The server's own processes. */
static const char *const own_processes[] = {
	"archiver", "autovacuum", "background writer", "checkpointer", "logger",
	"logical replication", "slotsync", "startup", "stats collector", "walreceiver",
	"walsummarizer", "walwriter",
};

/* Is this the title of a session? */
static bool
is_session(const char *title)
{
	for (unsigned i = 0; i < sizeof(own_processes) / sizeof(own_processes[0]); i++)
		if (processes__activity(title, own_processes[i]) != NULL)
			return false;
	return strncmp(title, "postgres: ", 10) == 0;
}

static void
add_session(const char *title, uint64_t read_bytes, void *total)
{
	if (is_session(title))
		*(uint64_t *) total += read_bytes;
}

/*
 * How much all of them have read, in bytes; false if that is not known.  That is logged at the
 * first check of a connection; later, the server may be ending.
 */
static bool
read_total(struct readers *readers, const struct cluster *cluster, uint64_t *bytes)
{
	int			err;

	*bytes = 0;
	err = processes__children(cluster, add_session, bytes);
	if (err < 0 && !readers->judged)
		log_warning("cannot see whether sessions of \"%s\" read: %s; prefetching as if they did, which "
					"is slower, while the server takes connections; %s", cluster->path,
					err == -ESRCH ? "no process of the server is visible" :
					err == -EACCES ? "the kernel does not report what they read" :
					"the kernel does not list them",
					err == -EOPNOTSUPP ? "use a kernel with CONFIG_PROC_CHILDREN" :
					"share the PID namespace, the user and the group of the server");
	readers->judged = true;
	return err == 0;
}

/* Time from one check to the next if the first one took so long, both in us. */
uint64_t
readers__pause_us(uint64_t check_us)
{
	uint64_t	pause_us = check_us * CHECK_SHARE;

	return pause_us < CHECK_US ? CHECK_US : pause_us > LONGEST_US ? LONGEST_US : pause_us;
}

/*
 * Do they?  "allowed" is whether the server takes connections.  To be called often.
 */
bool
readers__active(struct readers *readers, const struct cluster *cluster, bool allowed,
				uint64_t now_us)
{
	uint64_t	read_bytes = 0;
	uint64_t	started_us;

	if (!allowed)
	{
		readers->checked_us = readers->active_us = readers->read_bytes = 0;
		return false;
	}
	if (readers->checked_us == 0)
		readers->active_us = now_us;
	if (now_us - readers->checked_us >= readers->pause_us)
	{
		started_us = clock__now_us();
		readers->checked_us = now_us;
		if (!read_total(readers, cluster, &read_bytes) ||
			read_bytes > readers->read_bytes)	/* it falls when a session ends */
			readers->active_us = now_us;
		readers->read_bytes = read_bytes;
		readers->pause_us = readers__pause_us(clock__now_us() - started_us);
	}
	return now_us - readers->active_us < ACTIVE_US;
}

/* The same, but reads from the server's files whether it takes connections. */
bool
readers__of_server(struct readers *readers, const struct cluster *cluster, uint64_t now_us)
{
	if (readers->server_us == 0 || now_us - readers->server_us >= CHECK_US)
	{
		readers->server_us = now_us;
		readers->ready = serverstate__is_ready(cluster);
	}
	return readers__active(readers, cluster, readers->ready, now_us);
}
