/*
 * prefetch.c
 *		What the commands that prefetch for recoveries have in common: the engine, its output
 *		files, the monitor, and what is counted.
 *
 * The command finds a recovery, begins it here, gives the engine its references and keeps
 * "position" up to date, and ends it here.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/signals.h"
#include "cluster/tablespaces.h"
#include "engine/residency.h"
#include "engine/setup.h"
#include "prefetch/prefetch.h"
#include "report/summary.h"
#include "source/sockfile.h"

/* Nothing is open yet. */
void
prefetch__init(struct prefetch *prefetch, const struct prefetch_options *options)
{
	*prefetch = (struct prefetch)
	{
		.options = options,.cluster = {.dirfd = -1},.signal_fd = -1
	};
}

/* Open the outputs and the monitor, as the owner.  Returns 0 or -errno. */
int
prefetch__open(struct prefetch *prefetch, const char *command)
{
	const struct prefetch_options *options = prefetch->options;
	int			err = outputs__open(&prefetch->outputs, options->block_log, options->timeline,
									options->statistics);

	prefetch->may_listen = options->monitor.status_socket[0] != '\0' &&
		sockfile__check(&prefetch->cluster, options->monitor.status_socket) == 0;
	/* An output may be a FIFO that nobody reads yet, and a signal ends that. */
	if (err == 0)
		err = prefetch->signal_fd = signals__open();
	return err < 0 ? err : monitor__create(&prefetch->monitor, &options->monitor, command,
										   options->pgdata);
}

/*
 * Have the monitor watch the cluster.  Returns 0, or -EROFS after a message: a unit of systemd may
 * write to the directory of the socket that is there when it starts, and not to one in its place.
 */
int
prefetch__attach(struct prefetch *prefetch)
{
	const char *path = prefetch->options->monitor.status_socket;

	if (prefetch->may_listen && sockfile__check(&prefetch->cluster, path) == -EROFS)
	{
		log_error("directory of socket \"%s\" was replaced by one that is read-only for this program; "
				  "restart it, as systemd does", path);
		return -EROFS;
	}
	monitor__attach(prefetch->monitor, &prefetch->cluster);
	return 0;
}

/* Close all that is open, the cluster too. */
void
prefetch__close(struct prefetch *prefetch)
{
	monitor__destroy(prefetch->monitor);
	if (prefetch->signal_fd >= 0)
		close(prefetch->signal_fd);
	outputs__close(&prefetch->outputs);
	cluster__close(&prefetch->cluster);
}

/* Make the engine.  Returns 0, or -errno after a message. */
int
prefetch__create_engine(struct prefetch *prefetch, bool release_used)
{
	const struct prefetch_options *options = prefetch->options;
	struct engine_options wanted = {
		.dirfd = prefetch->cluster.dirfd,
		.io_depth = (unsigned) options->io_depth,
		.readahead_limit = (unsigned) options->readahead_limit,
		.files = (unsigned) options->files,
		.block_log = prefetch->outputs.block_log,
		.release_used = release_used,
	};

	return setup__engine(&prefetch->engine, wanted, options->backend, prefetch->uring_failed,
						 &prefetch->backend);
}

/*
 * The engine failed with err.  Returns 0 if another one may work, for io_uring is what
 * failed, and it will do without; or else err, after a message.
 */
int
prefetch__engine_failed(struct prefetch *prefetch, int err)
{
	if (prefetch->backend != &backend_uring || strcmp(prefetch->options->backend, "io_uring") == 0)
	{
		log_error("reading failed: %s; try --backend=auto", strerror(-err));
		return err;
	}
	log_warning("io_uring failed: %s; using posix_fadvise, which is slower, from now on; restart "
				"the program to try again", strerror(-err));
	prefetch->uring_failed = true;
	return 0;
}

/* Take a signal from signal_fd, if one has arrived. */
void
prefetch__handle_signal(struct prefetch *prefetch)
{
	int			signal = signals__take(prefetch->signal_fd);

	if (signal == SIGHUP)
	{
		notify__reloading();
		outputs__reopen(&prefetch->outputs);
		notify__reloaded();
	}
	else if (signal != 0)
	{
		notify__stopping();
		prefetch->stop = true;
	}
}

/* Its blocks are not read ahead, and would be the only sign. */
static void
warn_of_hidden(const struct prefetch *prefetch, const struct relpath_layout *layout)
{
	char		hidden[NAME_MAX + 1];
	int			err = tablespaces__find_hidden(prefetch->cluster.dirfd, layout->tablespace_dir,
											   hidden);

	if (err < 0)
		log_warning("tablespace \"%s/pg_tblspc/%s\" cannot be read: %s; no block of it is read "
					"ahead; in a container mount its volume, in a unit set ProtectHome=read-only, "
					"or PrivateTmp=no", prefetch->cluster.path, hidden, strerror(-err));
}

/*
 * A recovery of a cluster of this layout is found, which this startup process runs; 0 if that
 * is not known.  It may be the last one, whose end was not seen.
 */
void
prefetch__begin(struct prefetch *prefetch, const struct relpath_layout *layout, pid_t startup)
{
	bool		residency_works;

	prefetch->runs = true;
	if (!prefetch->goes_on || prefetch->startup != startup)
		prefetch->recoveries++;
	prefetch->startup = startup;
	prefetch->begin_us = clock__now_us();
	prefetch->begin_cpu_us = clock__cpu_us();
	residency_works = residency__works(prefetch->cluster.dirfd, layout->tablespace_dir);
	prefetch->monitor_us = prefetch->outputs.sample_us = 0;
	prefetch->readers = (struct readers) {0};
	engine__begin(prefetch->engine, layout, residency_works);
	notify__status("prefetching for a recovery");
	warn_of_hidden(prefetch, layout);
	if (!residency_works)
		log_info("cannot check whether blocks are in the page cache, on this kernel or the file "
				 "system of the data directory or a tablespace; blocks evicted before redo are not "
				 "read again");
	prefetch__write_statistics(prefetch, prefetch->begin_us);
}

/* Counters of the recovery that runs. */
static const struct counters *
update_counters(struct prefetch *prefetch)
{
	struct counters *counters = engine__counters(prefetch->engine);

	counters->cpu_us = clock__cpu_us() - prefetch->begin_cpu_us;
	counters->elapsed_us = clock__now_us() - prefetch->begin_us;
	return counters;
}

/* Write the statistics file, if there is one.  There must be an engine. */
void
prefetch__write_statistics(struct prefetch *prefetch, uint64_t now_us)
{
	struct counters total = prefetch->ended;
	struct statistics statistics = {
		.backend = prefetch->backend->name,
		.control = engine__control(prefetch->engine),
		.begin_us = prefetch->begin_us,
		.connected = prefetch->runs,
		.recoveries = prefetch->recoveries,
		.replay_lsn = prefetch->position.replay_lsn,
		.recovery = &prefetch->last,
		.total = &total,
	};

	if (prefetch->runs)
	{
		statistics.recovery = update_counters(prefetch);
		statistics.engine = engine__state(prefetch->engine);
		counters__add(&total, statistics.recovery);
	}
	outputs__write_statistics(&prefetch->outputs, &statistics, now_us);
}

/* What the monitor needs to know of the recovery that runs. */
static struct monitor_snapshot
make_snapshot(struct prefetch *prefetch)
{
	const struct prefetch_position *position = &prefetch->position;
	const struct control *control = engine__control(prefetch->engine);
	struct monitor_snapshot snapshot = {
		.recoveries = prefetch->recoveries,
		.begin_us = prefetch->begin_us,
		.replay_lsn = position->replay_lsn,
		.exact = position->exact,
		.decode_lsn = position->decode_lsn,
		.primary_lsn = position->primary_lsn,
		.backend = prefetch->backend->name,
		.engine = engine__state(prefetch->engine),
		.io_depth = control__depth(control),
		.gap_bytes = control->gap_bytes,
		.readahead_limit = control->readahead_limit,
		.recovery = *update_counters(prefetch),
		.total = prefetch->ended,
	};

	counters__add(&snapshot.total, &snapshot.recovery);
	return snapshot;
}

/* Report the progress of the recovery, as often as each report is due. */
void
prefetch__report(struct prefetch *prefetch, uint64_t now_us)
{
	outputs__add_sample(&prefetch->outputs, prefetch->engine, prefetch->position.replay_lsn,
						prefetch->begin_us, now_us);
	if (now_us - prefetch->outputs.statistics_us >= OUTPUTS_STATISTICS_US)
		prefetch__write_statistics(prefetch, now_us);
	if (now_us - prefetch->monitor_us >= MONITOR_PUBLISH_US)
	{
		struct monitor_snapshot snapshot = make_snapshot(prefetch);

		prefetch->monitor_us = now_us;
		monitor__publish(prefetch->monitor, &snapshot);
	}
}

/*
 * The recovery has ended, or is no longer served if it is not complete.  Returns 0, or
 * -errno if the engine is broken.
 */
int
prefetch__end(struct prefetch *prefetch, bool complete)
{
	int			err = engine__end(prefetch->engine);
	struct monitor_snapshot snapshot = make_snapshot(prefetch);

	summary__log(&snapshot.recovery, complete);
	outputs__report(&prefetch->outputs);
	monitor__end(prefetch->monitor, &snapshot, engine__relations(prefetch->engine), complete);
	prefetch->last = snapshot.recovery;
	prefetch->ended = snapshot.total;
	prefetch->runs = false;
	prefetch->goes_on = !complete;
	prefetch->position = (struct prefetch_position) {0};
	if (!prefetch->stop)
		notify__status(PREFETCH_WAITING);
	prefetch__write_statistics(prefetch, clock__now_us());
	return err;
}
