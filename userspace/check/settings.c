/*
 * settings.c
 *		Settings of the server that hold redoahead back, or cost time.
 *
 * Values that the server would refuse are not judged: it says so when it starts.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/check_internal.h"

/* First major that prefetches in recovery. */
#define FIRST_PREFETCHING	15

/* First major that reads data files with O_DIRECT. */
#define FIRST_DIRECT_IO		16

/* Decode buffer below which the look-ahead is short, bytes. */
#define LEAST_DECODE_BUFFER	(8 * 1024 * 1024)

/* Shared buffers from which huge pages matter, bytes. */
#define MANY_BUFFERS		(1024 * 1024 * 1024ULL)

/* Shared memory is larger than shared buffers by so much, percent. */
#define OTHER_SHARED_MEMORY	5

/* A setting that is memory, bytes; its default where the value is not valid. */
static uint64_t
memory_setting(const struct check *check, const char *name, const char *initial, uint64_t unit)
{
	uint64_t	bytes;

	if (!config_value__bytes(config__get(&check->config, name, initial), unit, &bytes))
		(void) config_value__bytes(initial, unit, &bytes);
	return bytes;
}

/* The server's own prefetching: redoahead serve needs it, redoahead follow replaces it. */
static void
check_recovery_prefetch(struct check *check)
{
	struct needs *needs = &check->needs;
	const char *value = config__get(&check->config, "recovery_prefetch", "try");
	bool		flag;
	bool		off = config_value__flag(value, &flag) && !flag;

	if (check->cluster.major < FIRST_PREFETCHING)
		return;
	if (check->kind == SERVER_PATCHED && off)
	{
		needs__add(needs, "recovery_prefetch", NEED_PROBLEM, "%s turns redoahead off, too", value);
		check__set(check, "recovery_prefetch", "try", false);
	}
	else if (check->kind == SERVER_STOCK && !off)
	{
		needs__add(needs, "recovery_prefetch", NEED_WARNING, "%s: the server does again what "
				   "redoahead follow has done", value);
		check__set(check, "recovery_prefetch", "off", false);
	}
	else
		needs__add(needs, "recovery_prefetch", NEED_OK, "%s", value);
}

/* How much WAL is decoded ahead of redo. */
static void
check_decode_buffer(struct check *check)
{
	struct needs *needs = &check->needs;
	uint64_t	stock = memory_setting(check, "wal_decode_buffer_size", "512kB", 1);
	uint64_t	ours = memory_setting(check, "redoahead.decode_buffer_size", "32MB", 1024);
	char		size[CHECK_SIZE_BYTES];

	if (check->cluster.major < FIRST_PREFETCHING)
		return;
	if (check->kind != SERVER_PATCHED)
	{
		check__size(size, stock);
		needs__add(needs, "wal_decode_buffer_size", NEED_OK, "%s; redoahead follow decodes WAL itself",
				   size);
		return;
	}
	check__size(size, stock > ours ? stock : ours);
	if (stock < LEAST_DECODE_BUFFER && ours < LEAST_DECODE_BUFFER)
	{
		needs__add(needs, "wal_decode_buffer_size", NEED_WARNING, "redo looks ahead at most %s of WAL, "
				   "by redoahead.decode_buffer_size", size);
		check__set(check, "redoahead.decode_buffer_size", "32MB", false);
	}
	else
		needs__add(needs, "wal_decode_buffer_size", NEED_OK, "%s while a daemon is connected", size);
	needs__number(needs, "bytes", stock > ours ? stock : ours);
}

/* Does the server read data files past the page cache? */
static void
check_direct_io(struct check *check)
{
	const char *value = config__get(&check->config, "debug_io_direct", "");

	if (check->cluster.major < FIRST_DIRECT_IO || !config_value__lists(value, "data"))
		return;
	needs__add(&check->needs, "debug_io_direct", NEED_PROBLEM, "'%s': the server does not read "
			   "from the page cache", value);
	check__set(check, "debug_io_direct", "", true);
}

/* Does the extension connect to the daemon? */
static void
check_socket(struct check *check)
{
	const struct config_setting *setting = config__find(&check->config, "redoahead.socket");

	if (check->kind != SERVER_PATCHED || setting == NULL)
		return;
	if (setting->value[0] == '\0')
	{
		needs__add(&check->needs, "redoahead.socket", NEED_PROBLEM, "empty: redoahead is off");
		check__set(check, "redoahead.socket", "pg_stat_tmp/redoahead.sock", false);
	}
	else
		needs__add(&check->needs, "redoahead.socket", NEED_OK, "start redoahead serve with --socket=%s",
				   setting->value);
}

/* Settings of recovery. */
void
check__settings(struct check *check)
{
	if (check->config_file[0] == '\0')
		return;
	check_recovery_prefetch(check);
	check_decode_buffer(check);
	check_direct_io(check);
	check_socket(check);
}

/* A number of /proc/meminfo; 0: there is none. */
static uint64_t
from_meminfo(const char *name)
{
	FILE	   *file = fopen("/proc/meminfo", "re");
	size_t		length = strlen(name);
	uint64_t	number = 0;
	char		line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, length) == 0 && line[length] == ':' &&
			sscanf(line + length + 1, "%" SCNu64, &number) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return number;
}

/* Does the kernel grant huge pages to shared memory that requests them? */
static bool
grants_huge_pages(void)
{
	FILE	   *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
	char		modes[128] = "";

	if (file == NULL)
		return false;
	if (fgets(modes, sizeof(modes), file) == NULL)
		modes[0] = '\0';
	fclose(file);
	return modes[0] != '\0' && strstr(modes, "[never]") == NULL && strstr(modes, "[deny]") == NULL;
}

/* Are many shared buffers in huge pages? */
void
check__memory_settings(struct check *check)
{
	struct needs *needs = &check->needs;
	const char *huge = config__get(&check->config, "huge_pages", "try");
	uint64_t	buffers = memory_setting(check, "shared_buffers", "128MB",
										 check->has_control ? check->control.block_size : 8192);
	uint64_t	page = from_meminfo("Hugepagesize") * 1024;
	uint64_t	total = from_meminfo("HugePages_Total");
	uint64_t	unused = from_meminfo("HugePages_Free");
	/* A server that runs may have them already. */
	uint64_t	present = check->running ? total : unused;
	uint64_t	needed;
	bool		off;
	bool		flag;
	char		size[CHECK_SIZE_BYTES];

	if (check->config_file[0] == '\0')
		return;
	off = config_value__flag(huge, &flag) && !flag;
	needed = page == 0 ? 0 : (buffers / 100 * (100 + OTHER_SHARED_MEMORY) + page - 1) / page;
	check__size(size, buffers);
	if (buffers < MANY_BUFFERS)
		needs__add(needs, "huge_pages", NEED_OK, "shared_buffers = %s is too little to need them", size);
	else if (page == 0)
		needs__add(needs, "huge_pages", NEED_OK, "the kernel has none");
	else if (off)
	{
		needs__add(needs, "huge_pages", NEED_WARNING, "off with shared_buffers = %s: the first use of "
				   "each buffer takes CPU time of redo", size);
		check__set(check, "huge_pages", "try", true);
	}
	else if (present < needed && check->kind == SERVER_PATCHED && grants_huge_pages())
		needs__add(needs, "huge_pages", NEED_OK, "the extension requests transparent ones for "
				   "shared_buffers = %s", size);
	else if (present < needed)
	{
		needs__add(needs, "huge_pages", NEED_WARNING, "shared_buffers = %s needs %" PRIu64 ", the "
				   "kernel has %" PRIu64 ": the first use of each buffer takes CPU time of redo", size,
				   needed, present);
		needs__remedy(needs, "sysctl -w vm.nr_hugepages=%" PRIu64 " # and restart the server",
					  total - unused + needed);
	}
	else
		needs__add(needs, "huge_pages", NEED_OK, "%" PRIu64 " for shared_buffers = %s", present, size);
	needs__number(needs, "shared_buffers", buffers);
}

/* Does the server replay WAL that another one has written? */
static bool
replays_others(const struct check *check)
{
	return check->control.state == CONTROLFILE_IN_ARCHIVE_RECOVERY ||
		faccessat(check->cluster.dirfd, "standby.signal", F_OK, 0) == 0 ||
		faccessat(check->cluster.dirfd, "recovery.signal", F_OK, 0) == 0;
}

/* Is a flag set in the server's configuration?  If that is not known, it has its default. */
static bool
is_set(const struct check *check, const char *name, bool initial)
{
	bool		flag = initial;

	if (check->config_file[0] != '\0')
		(void) config_value__flag(config__get(&check->config, name, initial ? "on" : "off"), &flag);
	return flag;
}

/*
 * Is there an image in WAL wherever a crash could tear a block?  Checkpoints have what WAL
 * of another server has, and what that of this one had at the last of them.
 */
static void
check_images(struct check *check)
{
	struct needs *needs = &check->needs;
	bool		others = replays_others(check);
	/* After a promotion, the last one is the primary's until this server has made its own. */
	bool		own = !others && check->control.end_timeline == 0;

	if (check->control.full_page_writes ?
		others || is_set(check, "full_page_writes", true) :
		own && is_set(check, "full_page_writes", true) &&
		is_set(check, "wal_keep_block_data", false))
		needs__add(needs, "full_page_writes", NEED_OK, "on: where WAL has an image of a block, redo "
				   "does not read it, and redoahead gains less");
	else if (others)
	{
		/* The primary streams images, if it writes them; another standby sends what it has. */
		needs__add(needs, "full_page_writes", NEED_WARNING, "off on the primary, %s: blocks that a "
				   "crash of this server tears stay so, unless storage writes whole blocks",
				   check->config_file[0] != '\0' &&
				   config__get(&check->config, "restore_command", "")[0] == '\0' ?
				   "or on there with wal_keep_block_data (WAL from another standby may then have no "
				   "images)" :
				   "or its archive may have no images (wal_keep_block_data)");
		if (check->control.checksums)
			needs__remedy(needs, "pg_checksums --check -D %s # after a crash; restore a base backup "
						  "if it finds any", check->pgdata);
		else
			needs__remedy(needs, "# after a crash, restore a base backup");
	}
	else if (is_set(check, "full_page_writes", true))
	{
		needs__add(needs, "full_page_writes", NEED_WARNING, "on, but not at the last checkpoint: "
				   "blocks that a crash tears before the next one stay so, unless storage writes "
				   "whole blocks");
		if (check->psql[0] != '\0')
			needs__remedy(needs, "%s -c CHECKPOINT", check->psql);
		else
			needs__remedy(needs, "# once the server takes connections, CHECKPOINT by psql");
	}
	else
	{
		needs__add(needs, "full_page_writes", NEED_WARNING, "off: blocks that a crash left half "
				   "written stay so, unless storage writes whole blocks");
		check__set(check, "full_page_writes", "on", false);
	}
}

/* What redo does for safety. */
void
check__wal(struct check *check)
{
	struct needs *needs = &check->needs;
	bool		vectors = check->kind == SERVER_PATCHED || check->cluster.major >= 19;

	if (!check->has_control)
		return;
	if (check->control.checksums)
		needs__add(needs, "data_checksums", NEED_OK, "on: they take about %s of the CPU time of "
				   "redo that reads blocks; keep them", vectors ? "2 %" : "a tenth");
	else
		needs__add(needs, "data_checksums", NEED_OK, "off: no cost, but damaged blocks are not found");
	check_images(check);
}
