/*
 * attach.c
 *		Loads the probes and attaches them, each the best way that works.
 *
 * What works is found out by trying: all points the best way at first; what
 * the kernel refuses is tried the next way.  The table below is the only place
 * that knows the ways.  bpf/README.md names the kernels that brought them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/types.h>

#include "bpf/trace.h"
#include "bpf/trace.skel.h"
#include "probe/attach.h"
#include "probe/refusal.h"
#include "base/log.h"

/* Most programs and ways of a point. */
#define MAX_PROGRAMS	2
#define MAX_WAYS		4

/* A way to observe a point. */
struct way
{
	const char *name;			/* for --attach and the report */
	const char *programs[MAX_PROGRAMS]; /* that it takes; none if user space does it */
};

struct point
{
	const char *name;			/* for --attach and the report */
	struct way	ways[MAX_WAYS]; /* best first */
};

static const struct point points[ATTACH_POINT_COUNT] = {
	[ATTACH_INSERTIONS] = {"insertions", {
			{"tp_btf", {"insert_btf"}},
			{"raw_tp", {"insert_raw"}},
	}},
	[ATTACH_EVICTIONS] = {"evictions", {
			{"tp_btf", {"delete_btf"}},
			{"raw_tp", {"delete_raw"}},
			{"none", {NULL}},
	}},
	[ATTACH_CALLS] = {"calls", {
			{"get_pages", {"get_pages_btf", "switch_btf"}},
			{"tp_btf", {"enter_btf", "exit_btf"}},
			{"raw_tp", {"enter_raw", "exit_raw"}},
	}},
	[ATTACH_MISSES] = {"misses", {
			{"insertions", {NULL}},
			{"sync_ra", {"miss_btf"}},
	}},
	[ATTACH_DEVICE] = {"device", {
			{"complete", {"complete_btf"}},
			{"issue", {"issue_btf", "complete_issued_btf"}},
			{"raw_tp", {"complete_raw"}},
			{"none", {NULL}},
	}},
	[ATTACH_RECORD] = {"record", {
			{"memory", {NULL}},
			{"none", {NULL}},
	}},
	[ATTACH_REFERENCES] = {"references", {
			{"ring", {NULL}},
			{"none", {NULL}},
	}},
};

struct attach
{
	struct attach_choice forced;	/* as given */
	struct attach_settings settings;	/* as given */
	unsigned	chosen[ATTACH_POINT_COUNT]; /* index of the way that is tried or taken */
	struct trace_bpf *programs; /* loaded ones */
};

/* Name of a point, as in the report. */
const char *
attach__point_name(enum attach_point point)
{
	return points[point].name;
}

static const struct way *
way_of(const struct attach *attach, enum attach_point point)
{
	return &points[point].ways[attach->chosen[point]];
}

/* The way that was taken for a point. */
const char *
attach__way(const struct attach *attach, enum attach_point point)
{
	return way_of(attach, point)->name;
}

static int
find_way(enum attach_point point, const char *name)
{
	for (int i = 0; i < MAX_WAYS && points[point].ways[i].name != NULL; i++)
		if (strcmp(points[point].ways[i].name, name) == 0)
			return i;
	return -1;
}

/*
 * Understand POINT=WAY,...; text is taken apart.  Returns -EINVAL with the part
 * that is wrong.
 */
int
attach__parse(struct attach_choice *choice, char *text, const char **wrong)
{
	char	   *saved;

	for (char *part = strtok_r(text, ",", &saved); part != NULL;
		 part = strtok_r(NULL, ",", &saved))
	{
		char	   *way = strchr(part, '=');
		enum attach_point point = 0;

		*wrong = part;
		if (way == NULL)
			return -EINVAL;
		while (point < ATTACH_POINT_COUNT &&
			   (strlen(points[point].name) != (size_t) (way - part) ||
				strncmp(points[point].name, part, (size_t) (way - part)) != 0))
			point++;
		if (point == ATTACH_POINT_COUNT || find_way(point, way + 1) < 0)
			return -EINVAL;
		choice->ways[point] = way + 1;
	}
	return 0;
}

/* All points and their ways, for --help. */
const char *
attach__help(void)
{
	static char text[1024];
	size_t		length = 0;

	for (int point = 0; point < ATTACH_POINT_COUNT; point++)
	{
		length += (size_t) snprintf(text + length, sizeof(text) - length, "  %-11s",
									points[point].name);
		for (int i = 0; i < MAX_WAYS && points[point].ways[i].name != NULL; i++)
			length += (size_t) snprintf(text + length, sizeof(text) - length, "%s%s",
										i > 0 ? ", " : "", points[point].ways[i].name);
		length += (size_t) snprintf(text + length, sizeof(text) - length, "\n");
	}
	return text;
}

/* libbpf speaks through our logger. */
static int
say(enum libbpf_print_level level, const char *format, va_list args)
{
	char		line[1024];
	size_t		length;

	(void) level;
	vsnprintf(line, sizeof(line), format, args);
	length = strlen(line);
	while (length > 0 && line[length - 1] == '\n')
		line[--length] = '\0';
	log_debug("%s", line);
	return 0;
}

/* Is a program part of the way that is tried for any point, or for one alone? */
static bool
is_chosen(const struct attach *attach, const char *program, int only)
{
	for (int point = 0; point < ATTACH_POINT_COUNT; point++)
	{
		if (only >= 0 && point != only)
			continue;
		for (int i = 0; i < MAX_PROGRAMS && way_of(attach, point)->programs[i] != NULL; i++)
			if (strcmp(way_of(attach, point)->programs[i], program) == 0)
				return true;
	}
	return false;
}

/* Make the maps as large as the programs need them. */
static int
set_maps(const struct attach *attach, struct trace_bpf *programs)
{
	uint32_t	slots = attach->settings.ahead_slots;
	int			err;

	err = bpf_map__set_max_entries(programs->maps.events, attach->settings.buffer_bytes);
	if (err == 0 && slots > 0)
	{
		programs->rodata->ahead_slots = slots;
		err = bpf_map__set_max_entries(programs->maps.ahead, slots);
	}
	if (err == 0 && !is_chosen(attach, "issue_btf", -1))
		err = bpf_map__set_max_entries(programs->maps.issued, 1);
	/* Kernels before 6.1 warn of raw tracepoints whose maps get memory as they need it. */
	if (err == 0 && (is_chosen(attach, "insert_raw", -1) || is_chosen(attach, "delete_raw", -1) ||
					 is_chosen(attach, "exit_raw", -1)))
		err = bpf_map__set_map_flags(programs->maps.files, 0);
	return err;
}

/* Load the programs of all points, or of one alone. */
static int
load(struct attach *attach, int only)
{
	struct trace_bpf *programs;
	struct bpf_program *program;
	int			err;

	programs = trace_bpf__open();
	if (programs == NULL)
		return -errno;
	bpf_object__for_each_program(program, programs->obj)
		bpf_program__set_autoload(program, is_chosen(attach, bpf_program__name(program), only));
	programs->rodata->page_shift = (__u32) __builtin_ctzl((unsigned long) sysconf(_SC_PAGESIZE));
	programs->rodata->block_shift = (__u32) __builtin_ctz(attach->settings.block_size);
	programs->rodata->nr_pread64 = SYS_pread64;
	programs->rodata->nr_preadv = SYS_preadv;
	programs->rodata->nr_preadv2 = SYS_preadv2;
	programs->rodata->nr_fadvise64 = SYS_fadvise64;
	programs->rodata->nr_close = SYS_close;
	programs->rodata->calls_by_pages = is_chosen(attach, "get_pages_btf", -1);
	programs->rodata->miss_by_readahead =
		strcmp(attach__way(attach, ATTACH_MISSES), "sync_ra") == 0;
	programs->rodata->counts_only = attach->settings.ahead_slots > 0;
	err = set_maps(attach, programs);
	if (err == 0)
		err = trace_bpf__load(programs);
	if (err < 0)
	{
		trace_bpf__destroy(programs);
		return err;
	}
	attach->programs = programs;
	return 0;
}

static void
unload(struct attach *attach)
{
	trace_bpf__destroy(attach->programs);
	attach->programs = NULL;
}

/* A way does not work: go on to the next one.  False, with the reason, if there is none. */
static bool
refuse(struct attach *attach, enum attach_point point, int err, char reason[ATTACH_REASON])
{
	const char *way = attach__way(attach, point);

	if (attach->forced.ways[point] != NULL ||
		attach->chosen[point] + 1 == MAX_WAYS ||
		points[point].ways[attach->chosen[point] + 1].name == NULL)
	{
		snprintf(reason, ATTACH_REASON,
				 "%s cannot be observed by %s: %s; --verbose shows what the kernel says",
				 points[point].name, way, strerror(-err));
		return false;
	}
	attach->chosen[point]++;
	log_debug("%s cannot be observed by %s: %s; trying %s", points[point].name, way,
			  strerror(-err), attach__way(attach, point));
	return true;
}

/* Find out which points the kernel refuses; 1 if another way is left for each. */
static int
find_refused(struct attach *attach, int err, char reason[ATTACH_REASON])
{
	bool		found = false;

	for (int point = 0; point < ATTACH_POINT_COUNT; point++)
	{
		int			alone;

		if (way_of(attach, point)->programs[0] == NULL)
			continue;
		alone = load(attach, point);
		unload(attach);
		if (alone == 0)
			continue;
		found = true;
		if (!refuse(attach, point, alone, reason))
			return alone;
	}
	if (!found)
		snprintf(reason, ATTACH_REASON,
				 "the probes cannot be loaded together: %s; give this process more memory",
				 strerror(-err));
	return found ? 1 : err;
}

/* Attach the programs of one point. */
static int
attach_point(struct attach *attach, enum attach_point point)
{
	for (int i = 0; i < MAX_PROGRAMS && way_of(attach, point)->programs[i] != NULL; i++)
	{
		const char *name = way_of(attach, point)->programs[i];
		struct bpf_object_skeleton *skeleton = attach->programs->skeleton;

		for (int p = 0; p < skeleton->prog_cnt; p++)
		{
			struct bpf_link *link;

			if (strcmp(skeleton->progs[p].name, name) != 0)
				continue;
			link = bpf_program__attach(*skeleton->progs[p].prog);
			if (link == NULL)
				return -errno;
			*skeleton->progs[p].link = link;
		}
	}
	return 0;
}

/* Tell the programs which disks to follow. */
static void
set_disks(struct attach *attach)
{
	for (unsigned i = 0; i < attach->settings.disk_count && i < TRACE_DISKS; i++)
	{
		dev_t		disk = attach->settings.disks[i];

		attach->programs->bss->disks[i] = (__u32) major(disk) << 20 | (__u32) minor(disk);
	}
}

/* Load the best programs that the kernel takes. */
static int
load_best(struct attach *attach, char reason[ATTACH_REASON])
{
	for (;;)
	{
		int			err = load(attach, -1);

		if (err == 0)
		{
			set_disks(attach);
			return 0;
		}
		err = find_refused(attach, err, reason);
		if (err <= 0)
			return err;
	}
}

/*
 * Attach what was loaded.  What does not go that way is loaded the next way,
 * which may make new maps: the caller must look them up after this.  If that fails
 * it says why.
 */
int
attach__attach(struct attach *attach, char reason[ATTACH_REASON])
{
	int			err;

	for (int point = 0; point < ATTACH_POINT_COUNT; point++)
	{
		err = attach_point(attach, point);
		if (err == 0)
			continue;
		if (!refuse(attach, point, err, reason))
			return err;
		unload(attach);
		err = load_best(attach, reason);
		if (err < 0)
			return err;
		point = -1;				/* all over again */
	}
	return 0;
}

/*
 * Do the calls that are told by their pages include those that read this cluster?  Not
 * where its file system keeps pages in its own way.  The programs are attached.
 */
static bool
calls_are_seen(struct attach *attach)
{
	struct trace_bpf *programs = attach->programs;
	char		byte;
	bool		seen;
	int			fd;

	if (strcmp(attach__way(attach, ATTACH_CALLS), "get_pages") != 0)
		return true;
	fd = openat(attach->settings.dirfd, "PG_VERSION", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;			/* it will be missed soon enough */
	programs->bss->startup_tgid = (__u32) getpid();
	seen = pread(fd, &byte, 1, 0) != 1 || programs->bss->last_read.type != 0;
	programs->bss->startup_tgid = 0;
	programs->bss->last_read.type = 0;
	close(fd);
	return seen;
}

/* Attach once more what was attached before; the programs and their maps stay as they are. */
int
attach__again(struct attach *attach)
{
	int			err = 0;

	for (int point = 0; err == 0 && point < ATTACH_POINT_COUNT; point++)
		err = attach_point(attach, point);
	if (err < 0)
		attach__detach(attach);
	return err;
}

/* Detach all probes; they stay loaded. */
void
attach__detach(struct attach *attach)
{
	trace_bpf__detach(attach->programs);
}

/* Try all that will be needed, and leave it loaded but not attached; or say why not. */
int
attach__open(struct attach **result, const struct attach_choice *forced,
			 const struct attach_settings *settings, char reason[ATTACH_REASON])
{
	struct refusal_facts facts;
	struct attach *attach;
	int			err;

	refusal__look(&facts, settings->dirfd);
	if (refusal__is_certain(&facts))
	{
		refusal__explain(&facts, 0, reason, ATTACH_REASON);
		return -EPERM;
	}
	attach = calloc(1, sizeof(*attach));
	if (attach == NULL)
	{
		snprintf(reason, ATTACH_REASON, "%s; give this process more memory", strerror(ENOMEM));
		return -ENOMEM;
	}
	attach->forced = *forced;
	attach->settings = *settings;
	for (int point = 0; point < ATTACH_POINT_COUNT; point++)
		if (forced->ways[point] != NULL)
			attach->chosen[point] = (unsigned) find_way(point, forced->ways[point]);

	libbpf_set_print(say);
	err = load_best(attach, reason);
	if (err == 0)
		err = attach__attach(attach, reason);
	if (err == 0 && !calls_are_seen(attach))
	{
		err = -EOPNOTSUPP;
		if (refuse(attach, ATTACH_CALLS, err, reason))
		{
			unload(attach);
			err = load_best(attach, reason);
			if (err == 0)
				err = attach__attach(attach, reason);
		}
	}
	if (err < 0)
	{
		/* Only this does not tell why. */
		if (err == -EPERM || err == -EACCES)
			refusal__explain(&facts, err, reason, ATTACH_REASON);
		attach__close(attach);
		return err;
	}
	attach__detach(attach);
	*result = attach;
	return 0;
}

/* Detach and unload everything; NULL is fine. */
void
attach__close(struct attach *attach)
{
	if (attach == NULL)
		return;
	unload(attach);
	free(attach);
}

/* The loaded programs: their maps and variables. */
struct trace_bpf *
attach__programs(struct attach *attach)
{
	return attach->programs;
}
