/*
 * prefetch.h
 *		What the commands that prefetch for recoveries have in common: the engine, its output
 *		files, the monitor, and what is counted.
 */
#ifndef REDOAHEAD_PREFETCH_PREFETCH_H
#define REDOAHEAD_PREFETCH_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/cluster.h"
#include "cluster/readers.h"
#include "engine/engine.h"
#include "monitor/monitor.h"
#include "report/outputs.h"

/* Status between recoveries, for the service manager. */
#define PREFETCH_WAITING	"waiting for a recovery"

/* What the user chose. */
struct prefetch_options
{
	const char *pgdata;			/* data directory */
	const char *backend;		/* "auto", "io_uring" or "fadvise" */
	const char *block_log;		/* block log, or NULL */
	const char *statistics;		/* statistics file, or NULL */
	const char *timeline;		/* timeline file, or NULL */
	struct monitor_options monitor; /* what shows people the state */
	uint64_t	io_depth;		/* most blocks in flight */
	uint64_t	readahead_limit;	/* most blocks read ahead of redo */
	uint64_t	files;			/* most descriptors of data files */
};

/* How far a recovery is, as its source of references knows. */
struct prefetch_position
{
	uint64_t	replay_lsn;		/* position of redo, 0: unknown */
	bool		exact;			/* it is that of the record being replayed */
	uint64_t	decode_lsn;		/* up to which WAL has been decoded */
	uint64_t	primary_lsn;	/* end of the primary's WAL, 0: unknown */
};

struct prefetch
{
	const struct prefetch_options *options; /* as given */
	struct cluster cluster;		/* whose recoveries are served */
	struct engine *engine;		/* reads the blocks; NULL: there is none now */
	const struct backend_ops *backend;	/* how it reads */
	bool		uring_failed;	/* io_uring worked at first, but failed later */
	struct outputs outputs;		/* block log, timeline, statistics */
	struct monitor *monitor;	/* shows people the state */
	bool		may_listen;		/* its socket could be made when the command was started */
	int			signal_fd;		/* SIGTERM, SIGINT and SIGHUP */
	bool		stop;			/* one of the first two has arrived */

	bool		runs;			/* is there a recovery? */
	bool		goes_on;		/* otherwise: was the last one given up before it ended? */
	pid_t		startup;		/* process that runs it, or did last; 0: unknown */
	struct prefetch_position position;	/* of it, lately; all zero: there is none */
	struct readers readers;		/* do sessions read beside redo? */
	uint64_t	begin_us;		/* time at which the present or last one was found, us */
	uint64_t	begin_cpu_us;	/* CPU time of the process at that time, us */
	uint64_t	monitor_us;		/* time of the last snapshot for the monitor, us */

	uint64_t	recoveries;		/* recoveries found so far */
	struct counters last;		/* of the last recovery that ended */
	struct counters ended;		/* of all recoveries that ended */
};

void		prefetch__init(struct prefetch *prefetch, const struct prefetch_options *options);
int			prefetch__open(struct prefetch *prefetch, const char *command);
int			prefetch__attach(struct prefetch *prefetch);
void		prefetch__close(struct prefetch *prefetch);
int			prefetch__create_engine(struct prefetch *prefetch, bool release_used);
int			prefetch__engine_failed(struct prefetch *prefetch, int err);
void		prefetch__handle_signal(struct prefetch *prefetch);
void		prefetch__begin(struct prefetch *prefetch, const struct relpath_layout *layout,
							pid_t startup);
void		prefetch__report(struct prefetch *prefetch, uint64_t now_us);
void		prefetch__write_statistics(struct prefetch *prefetch, uint64_t now_us);
int			prefetch__end(struct prefetch *prefetch, bool complete);

#endif							/* REDOAHEAD_PREFETCH_PREFETCH_H */
