/*
 * feedback.c
 *		What the probes tell the daemon of its own work: which blocks redo found,
 *		waited for or missed, and which were evicted unused.
 *
 * The programs are those of `redoahead trace`; here they send no events but
 * count, and the counts are in memory that is shared with the kernel.
 *
 * To attach them takes rights that the daemon gives up.  So it forks a helper
 * before, which has nothing else to do than to attach them when a recovery begins
 * and to detach them when it ends, or when brief feedback is over; it keeps the two
 * capabilities that this takes and no file of the cluster.  It ends with the
 * daemon, however that ends, and nothing stays attached.  If anything fails, that
 * is said once, and the daemon goes on with what it counts itself.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/types.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/trace.h"
#include "bpf/trace.skel.h"
#include "cluster/controlfile.h"
#include "probe/feedback.h"
#include "base/clock.h"
#include "base/log.h"

/* Name of the helper, for ps; not that of a daemon, which a trace would follow. */
#define HELPER_NAME		"redoahead-probe"

/* The kernel's number of the first PID namespace, the only one whose numbers probes see. */
#define FIRST_PID_NAMESPACE	0xeffffffcU

/* Slots for blocks ahead of redo, for each block of the window. */
#define SLOTS_PER_BLOCK	4

/* How long brief feedback lasts, us. */
#define BRIEF_US		5000000

/* Ring buffer for events, of which there are none: as small as the kernel takes. */
#define NO_BUFFER		((uint32_t) sysconf(_SC_PAGESIZE))

/* What the helper is told. */
enum
{
	HELPER_ATTACH = 'a',		/* it answers with 0 or -errno, an int */
	HELPER_DETACH = 'd'			/* it answers nothing */
};

struct feedback
{
	struct attach *attach;		/* the programs, loaded */
	pid_t		helper;			/* who attaches them */
	int			socket;			/* to the helper; -1: feedback has failed */
	bool		attached;		/* do the programs run? */
	bool		waiting;		/* an answer is due */
	bool		brief;			/* do they run at the beginning of a recovery only? */
	uint64_t	begin_us;		/* when the recovery began, us */
	uint64_t   *ahead;			/* what the programs note of blocks ahead of redo */
	size_t		ahead_bytes;	/* its size, bytes */
	struct trace_counts begin;	/* when the recovery began */
	struct counters seen;		/* the daemon's counters when they were completed last */
};

static struct trace_bpf *
programs_of(const struct feedback *feedback)
{
	return attach__programs(feedback->attach);
}

/* ---------- the helper ---------- */

/* Keep these capabilities and no other; a mask of the numbers from 32 on. */
static void
keep_capabilities(uint32_t high)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}, {.effective = high,.permitted = high}};

	if (syscall(SYS_capset, &header, data) < 0)
		log_debug("capabilities cannot be given up: %s", strerror(errno));
}

/* Attach and detach as told, until the daemon has gone. */
static _Noreturn void
help(struct attach *attach, int socket)
{
	char		command;

	prctl(PR_SET_NAME, HELPER_NAME);
	/* It ends with the daemon, not before. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	keep_capabilities(1U << (CAP_BPF - 32) | 1U << (CAP_PERFMON - 32));
	while (recv(socket, &command, sizeof(command), 0) == (ssize_t) sizeof(command))
	{
		int			err;

		if (command == HELPER_DETACH)
		{
			attach__detach(attach);
			continue;
		}
		err = attach__again(attach);
		if (send(socket, &err, sizeof(err), MSG_NOSIGNAL) < 0)
			break;
	}
	attach__detach(attach);
	_exit(0);
}

/* ---------- the daemon ---------- */

/* Load what is needed of the programs; or say why not. */
static int
load(struct feedback *feedback, const struct cluster *cluster, unsigned window,
	 char reason[ATTACH_REASON])
{
	static const struct attach_choice choice = {.ways = {
			[ATTACH_MISSES] = "insertions",
			[ATTACH_DEVICE] = "none",
			[ATTACH_RECORD] = "none",
			[ATTACH_REFERENCES] = "none",
	}};
	struct attach_settings settings = {
		.dirfd = cluster->dirfd,.buffer_bytes = NO_BUFFER,.ahead_slots = 1024
	};
	struct controlfile control;
	struct stat st;
	int			err;

	if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != FIRST_PID_NAMESPACE)
	{
		snprintf(reason, ATTACH_REASON, "this process is in a PID namespace of its own, whose "
				 "numbers probes do not see; run it outside of the container");
		return -ENOTSUP;
	}
	err = controlfile__read(&control, cluster);
	if (err < 0)
	{
		snprintf(reason, ATTACH_REASON, "global/pg_control cannot be understood: %s; "
				 "give the directory of a sound cluster with -D", strerror(-err));
		return err;
	}
	settings.block_size = control.block_size;
	while (settings.ahead_slots < window * SLOTS_PER_BLOCK)
		settings.ahead_slots *= 2;
	err = attach__open(&feedback->attach, &choice, &settings, reason);
	if (err < 0)
		return err;
	feedback->ahead_bytes = settings.ahead_slots * sizeof(*feedback->ahead);
	feedback->ahead = mmap(NULL, feedback->ahead_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
						   bpf_map__fd(programs_of(feedback)->maps.ahead), 0);
	if (feedback->ahead != MAP_FAILED)
		return 0;
	err = -errno;
	feedback->ahead = NULL;
	snprintf(reason, ATTACH_REASON, "the table of the probes cannot be mapped: %s; give this "
			 "process more memory", strerror(-err));
	return err;
}

/*
 * Load the probes, for a window of so many blocks, and for a whole recovery or only
 * for its first seconds; call it while there are the rights for that.  Returns 0, or -errno and the reason why feedback is not possible.
 */
int
feedback__open(struct feedback **result, const struct cluster *cluster, unsigned window,
			   bool brief, char reason[ATTACH_REASON])
{
	struct feedback *feedback = calloc(1, sizeof(*feedback));
	int			sockets[2];
	int			err;

	if (feedback == NULL)
	{
		snprintf(reason, ATTACH_REASON, "%s; give this process more memory", strerror(ENOMEM));
		return -ENOMEM;
	}
	feedback->socket = -1;
	err = load(feedback, cluster, window, reason);
	if (err < 0)
	{
		feedback__close(feedback);
		return err;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		goto fail;
	feedback->helper = fork();
	if (feedback->helper == 0)
	{
		close(sockets[0]);
		close(cluster->dirfd);
		help(feedback->attach, sockets[1]);
	}
	close(sockets[1]);
	feedback->socket = sockets[0];
	if (feedback->helper < 0)
		goto fail;
	/* The helper has them; who became another user has lost them anyway. */
	if (geteuid() != 0)
		keep_capabilities(0);
	feedback->brief = brief;
	*result = feedback;
	return 0;

fail:
	err = -errno;
	snprintf(reason, ATTACH_REASON, "the process that attaches the probes cannot be started: %s; "
			 "raise the limits of this one", strerror(-err));
	feedback__close(feedback);
	return err;
}

/* Let go of the helper, which ends then. */
static void
dismiss(struct feedback *feedback)
{
	if (feedback->socket >= 0)
		close(feedback->socket);
	feedback->socket = -1;
	feedback->attached = feedback->waiting = false;
	if (feedback->helper > 0)
		(void) waitpid(feedback->helper, NULL, 0);
	feedback->helper = 0;
}

/* Detach and unload everything; NULL is fine. */
void
feedback__close(struct feedback *feedback)
{
	if (feedback == NULL)
		return;
	dismiss(feedback);
	if (feedback->ahead != NULL)
		munmap(feedback->ahead, feedback->ahead_bytes);
	attach__close(feedback->attach);
	free(feedback);
}

/* Do without from now on, and say so. */
static void
fail(struct feedback *feedback, const char *what, int err)
{
	log_warning("the probes cannot be used any more: %s: %s; going by what the daemon counts "
				"itself; start it anew to try again", what, strerror(-err));
	dismiss(feedback);
}

static void
tell(struct feedback *feedback, char command)
{
	if (send(feedback->socket, &command, sizeof(command), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		fail(feedback, "the process that attaches them has gone", -errno);
}

/* A recovery begins, in this process.  Nothing is waited for. */
void
feedback__begin(struct feedback *feedback, pid_t startup)
{
	struct trace_bpf *programs;

	if (feedback == NULL || feedback->socket < 0)
		return;
	programs = programs_of(feedback);
	feedback->begin = programs->bss->counts;
	feedback->begin_us = clock__now_us();
	feedback->seen = (struct counters) {0};
	memset(feedback->ahead, 0, feedback->ahead_bytes);
	programs->bss->last_read.type = 0;	/* of the last recovery */
	programs->bss->daemon_tgid[0] = (__u32) getpid();
	programs->bss->startup_tgid = (__u32) startup;
	feedback->waiting = true;
	tell(feedback, HELPER_ATTACH);
}

/* See what has become of the request to attach. */
static void
take_answer(struct feedback *feedback)
{
	ssize_t		n;
	int			err;

	n = recv(feedback->socket, &err, sizeof(err), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	feedback->waiting = false;
	feedback->attached = n == (ssize_t) sizeof(err) && err == 0;
	if (n != (ssize_t) sizeof(err))
		fail(feedback, "the process that attaches them has gone", -ECHILD);
	else if (err < 0)
		fail(feedback, "they cannot be attached", err);
}

/*
 * Share out misses by cause: the kernel knows of evictions; of the others, as many
 * are the daemon's as it has not come to, or failed to read, in the same time.
 */
static void
find_causes(struct feedback *feedback, struct counters *counters, uint64_t missed,
			uint64_t evicted)
{
	struct counters *seen = &feedback->seen;
	uint64_t	rest = missed - evicted;
	uint64_t	beyond = counters->blocks_stale - seen->blocks_stale;
	uint64_t	failed = counters__failed(counters) - counters__failed(seen);

	beyond = beyond < rest ? beyond : rest;
	rest -= beyond;
	failed = failed < rest ? failed : rest;
	counters->redo_missed_by[MISS_EVICTED] += evicted;
	counters->redo_missed_by[MISS_BEYOND_WINDOW] += beyond;
	counters->redo_missed_by[MISS_FAILED] += failed;
	counters->redo_missed_by[MISS_NOT_REFERENCED] += rest - failed;
}

static void
take_counts(struct feedback *feedback, struct counters *counters)
{
	struct trace_counts now = programs_of(feedback)->bss->counts;
	uint64_t	missed;
	uint64_t	evicted;

	counters->redo_timely = now.timely - feedback->begin.timely;
	counters->redo_late = now.late - feedback->begin.late;
	counters->redo_waited_us = (now.waited_ns - feedback->begin.waited_ns) / 1000;
	counters->cache_prefetched = now.prefetched - feedback->begin.prefetched;
	counters->cache_used = now.used - feedback->begin.used;
	counters->cache_evicted = now.evicted - feedback->begin.evicted;
	counters->cache_dropped = now.dropped - feedback->begin.dropped;

	missed = now.missed - feedback->begin.missed - counters->redo_missed;
	evicted = now.missed_evicted - feedback->begin.missed_evicted -
		counters->redo_missed_by[MISS_EVICTED];
	/* The two are not read at the same moment. */
	if (missed == 0 || evicted > missed)
		return;
	counters->redo_missed += missed;
	find_causes(feedback, counters, missed, evicted);
	feedback->seen = *counters;
}

/*
 * Complete the daemon's counters of this recovery by what the probes have counted;
 * brief feedback ends in time.
 */
void
feedback__take(struct feedback *feedback, struct counters *counters)
{
	if (feedback == NULL || feedback->socket < 0)
		return;
	if (feedback->waiting)
		take_answer(feedback);
	if (!feedback->attached)
		return;
	take_counts(feedback, counters);
	if (feedback->brief && clock__now_us() - feedback->begin_us >= BRIEF_US)
		feedback__end(feedback);
}

/* The recovery is over: detach. */
void
feedback__end(struct feedback *feedback)
{
	if (feedback == NULL || feedback->socket < 0 || !(feedback->attached || feedback->waiting))
		return;
	programs_of(feedback)->bss->startup_tgid = 0;
	if (feedback->waiting)
		take_answer(feedback);
	if (feedback->socket >= 0)
		tell(feedback, HELPER_DETACH);
	feedback->attached = false;
}

/* Are the probes used? */
bool
feedback__works(const struct feedback *feedback)
{
	return feedback != NULL && feedback->socket >= 0;
}
