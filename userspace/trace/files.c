/*
 * files.c
 *		The files that were read: which relation's fork or SLRU each belongs to.
 *
 * The BPF programs number files by inode and report their names once; block
 * references name relations.  Here both lead to the same row: all segments of a
 * fork, or of an SLRU, share one, and a file that is dropped and created again
 * keeps its row.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hash.h"
#include "trace/files.h"

/* Numbers of files are below this; the BPF programs number fewer. */
#define MAX_NUMBER		(1024 * 1024)

/* Slots of the table of rows, at most. */
#define MAX_SLOTS		(1024 * 1024)

/* Room for numbers and rows at first. */
#define FIRST_ROOM		256

/* An entry of the table of rows. */
struct row_entry
{
	struct relpath_key key;		/* its segment is 0 */
	uint32_t	row;			/* its number */
};

struct files
{
	char		pgdata[PATH_MAX];	/* data directory, to find tablespaces */
	char		tablespace_dir[TRACE_NAME_BYTES];	/* PG_18_... as reported, "" before */
	uint32_t	segment_blocks; /* blocks in a segment of a relation */
	struct files_place *places; /* by the kernel's number */
	uint32_t	place_count;	/* size of that */
	struct hash row_of;			/* struct row_entry */
	struct relpath_key *rows;	/* by row */
	uint32_t	row_room;		/* size of that */
};

/* Start without files; pgdata is where tablespaces are looked up. */
int
files__create(struct files **result, const char *pgdata, uint32_t segment_blocks)
{
	struct files *files = calloc(1, sizeof(*files));

	if (files == NULL ||
		hash__create(&files->row_of, sizeof(struct row_entry), sizeof(struct relpath_key),
					 MAX_SLOTS) < 0)
	{
		free(files);
		return -ENOMEM;
	}
	snprintf(files->pgdata, sizeof(files->pgdata), "%s", pgdata);
	files->segment_blocks = segment_blocks;
	*result = files;
	return 0;
}

/* Free all; NULL is fine. */
void
files__destroy(struct files *files)
{
	if (files == NULL)
		return;
	hash__destroy(&files->row_of);
	free(files->places);
	free(files->rows);
	free(files);
}

/* The row of a fork or SLRU, whatever the segment; FILES_NONE if there is no memory. */
uint32_t
files__row(struct files *files, const struct relpath_key *key)
{
	uint32_t	count = (uint32_t) files->row_of.count;
	struct relpath_key all = *key;
	struct row_entry *entry;

	all.segment = 0;
	entry = hash__find(&files->row_of, &all);
	if (entry != NULL)
		return entry->row;
	if (count == files->row_room)
	{
		uint32_t	room = count == 0 ? FIRST_ROOM : count * 2;
		struct relpath_key *rows = realloc(files->rows, room * sizeof(*rows));

		if (rows == NULL)
			return FILES_NONE;
		files->rows = rows;
		files->row_room = room;
	}
	entry = hash__add(&files->row_of, &all);
	if (entry == NULL)
		return FILES_NONE;
	files->rows[count] = all;
	return entry->row = count;
}

/* Is it the file of an event?  A file of btrfs has other device numbers than the kernel's. */
static bool
is_same_file(const struct stat *st, const struct trace_file_key *key)
{
	return st->st_ino == key->inode &&
		(major(st->st_dev) == 0 || (major(st->st_dev) << 20 | minor(st->st_dev)) == key->device);
}

/*
 * The OID of the tablespace that holds the file of an event.  One that has been dropped
 * is in the tablespace whose directory has the name in the event, if there is one only.
 * "0" if there is none.
 */
static void
find_tablespace(const struct files *files, const struct trace_file_key *key,
				char names[TRACE_NAMES][TRACE_NAME_BYTES], char oid[16])
{
	char		path[PATH_MAX + 16];
	struct dirent *entry;
	struct stat st;
	DIR		   *directory;
	unsigned	named = 0;

	snprintf(oid, 16, "0");
	snprintf(path, sizeof(path), "%s/pg_tblspc", files->pgdata);
	directory = opendir(path);
	if (directory == NULL)
		return;
	while ((entry = readdir(directory)) != NULL)
	{
		char		target[PATH_MAX];
		ssize_t		length = readlinkat(dirfd(directory), entry->d_name, target,
										sizeof(target) - 1);
		const char *base;

		if (!isdigit((unsigned char) entry->d_name[0]) || strlen(entry->d_name) >= 16)
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s/%s", entry->d_name, names[2], names[1], names[0]);
		if (fstatat(dirfd(directory), path, &st, 0) == 0 && is_same_file(&st, key))
		{
			strcpy(oid, entry->d_name);
			named = 1;
			break;
		}
		target[length < 0 ? 0 : length] = '\0';
		base = strrchr(target, '/');
		if ((length < 0 && strcmp(entry->d_name, names[3]) == 0) ||
			(base != NULL && strncmp(base + 1, names[3], TRACE_NAME_BYTES - 1) == 0))
		{
			strcpy(oid, entry->d_name);
			named++;
		}
	}
	closedir(directory);
	if (named > 1)
		snprintf(oid, 16, "0");
}

/* The path of a file relative to the data directory, from the names in the event. */
static void
make_path(struct files *files, const struct trace_file *event, char path[RELPATH_BYTES])
{
	char		names[TRACE_NAMES][TRACE_NAME_BYTES];
	char		oid[16];

	memcpy(names, event->names, sizeof(names));
	for (int i = 0; i < TRACE_NAMES; i++)
		names[i][TRACE_NAME_BYTES - 1] = '\0';

	if (strlen(names[0]) == 24 && strspn(names[0], "0123456789ABCDEF") == 24)
		snprintf(path, RELPATH_BYTES, "pg_wal/%s", names[0]);
	else if (strcmp(names[1], "global") == 0 || strncmp(names[1], "pg_", 3) == 0)
		snprintf(path, RELPATH_BYTES, "%s/%s", names[1], names[0]);
	else if (strncmp(names[2], "PG_", 3) == 0 &&
			 names[2][strspn(names[2], "0123456789PG_")] == '\0')
	{
		memcpy(files->tablespace_dir, names[2], sizeof(files->tablespace_dir));
		find_tablespace(files, &event->key, names, oid);
		snprintf(path, RELPATH_BYTES, "pg_tblspc/%s/%s/%s/%s", oid, names[2], names[1], names[0]);
	}
	else
		snprintf(path, RELPATH_BYTES, "%s/%s/%s", names[2], names[1], names[0]);
}

/* The kernel has given a file a number.  -ENOMEM if that cannot be kept. */
int
files__add(struct files *files, const struct trace_file *event)
{
	struct files_place *place;
	char		path[RELPATH_BYTES];
	struct relpath_key key;

	if (event->file >= MAX_NUMBER)
		return -EINVAL;
	if (event->file >= files->place_count)
	{
		uint32_t	count = files->place_count == 0 ? FIRST_ROOM : files->place_count;
		struct files_place *places;

		while (count <= event->file)
			count *= 2;
		places = realloc(files->places, count * sizeof(*places));
		if (places == NULL)
			return -ENOMEM;
		for (uint32_t i = files->place_count; i < count; i++)
			places[i] = (struct files_place) {.row = FILES_NONE};
		files->places = places;
		files->place_count = count;
	}
	make_path(files, event, path);
	if (!event->named || relpath__parse(path, &key) < 0)
		return 0;
	place = &files->places[event->file];
	place->row = key.kind == RELPATH_KIND_WAL ? FILES_WAL : files__row(files, &key);
	place->first_block = key.segment * (key.kind == REDOAHEAD_KIND_SLRU ?
										REDOAHEAD_SLRU_PAGES_PER_SEGMENT : files->segment_blocks);
	return 0;
}

/* What the file with a number holds. */
struct files_place
files__place(const struct files *files, uint32_t number)
{
	if (number < files->place_count)
		return files->places[number];
	return (struct files_place) {.row = FILES_NONE};
}

/* How many rows there are. */
uint32_t
files__row_count(const struct files *files)
{
	return (uint32_t) files->row_of.count;
}

/* The fork or SLRU of a row. */
const struct relpath_key *
files__row_key(const struct files *files, uint32_t row)
{
	return &files->rows[row];
}

/* The path of a row: of its first segment, or its SLRU's directory. */
void
files__row_path(const struct files *files, uint32_t row, char path[RELPATH_BYTES])
{
	const struct relpath_key *key = &files->rows[row];
	struct relpath_layout layout = {0};

	memcpy(layout.tablespace_dir, files->tablespace_dir, sizeof(files->tablespace_dir));
	relpath__format(key, &layout, path);
	if (key->kind == REDOAHEAD_KIND_SLRU)
		*strrchr(path, '/') = '\0';
}
