/*
 * files.c
 *		The files that were met, and what they hold.
 *
 * The kernel numbers files by inode and tells their names once; the server
 * names blocks by relation.  Both meet here.  A file of the cluster has one
 * entry however often it was dropped and made anew.  Segments of a relation's
 * fork, and of an SLRU, share a row of the report.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/files.h"

/* Segment number of the entry that stands for all segments. */
#define ALL_SEGMENTS	UINT32_MAX

/* Largest number that the kernel is believed to give a file. */
#define MAX_NUMBER		(1024 * 1024)

/* Slots of the table at first; a power of two. */
#define FIRST_SLOTS		256

/* Most files and tables of them. */
#define MAX_ENTRIES		(1024 * 1024)

/* Bytes that blocks_read grows by. */
#define BITS_STEP		1024

struct file_entry
{
	struct relpath_key key;		/* what it is */
	uint32_t	row;			/* of the report; FILES_NONE for WAL */
	uint8_t    *blocks_read;	/* bit n: redo has read block n */
	uint32_t	blocks_read_bytes;	/* size of that, bytes */
};

struct files
{
	char		pgdata[PATH_MAX];	/* data directory, to find tablespaces */
	char		tablespace_dir[TRACE_NAME_BYTES];	/* PG_18_... as seen, "" before */
	struct file_entry *entries; /* in the order in which they were met */
	uint32_t	count;			/* how many */
	uint32_t	room;			/* for so many */
	uint32_t   *slots;			/* hash table: index of an entry, plus 1 */
	uint32_t	slot_count;		/* a power of two */
	uint32_t   *by_number;		/* kernel's number -> entry */
	uint32_t	numbers;		/* size of that */
	uint32_t   *rows;			/* row -> its entry for all segments */
	uint32_t	row_count;		/* how many */
};

/* Make room for files; pgdata is where tablespaces are looked up. */
int
files__create(struct files **result, const char *pgdata)
{
	struct files *files = calloc(1, sizeof(*files));

	if (files == NULL)
		return -ENOMEM;
	files->slots = calloc(FIRST_SLOTS, sizeof(*files->slots));
	if (files->slots == NULL)
	{
		free(files);
		return -ENOMEM;
	}
	files->slot_count = FIRST_SLOTS;
	snprintf(files->pgdata, sizeof(files->pgdata), "%s", pgdata);
	*result = files;
	return 0;
}

/* Forget all; NULL is fine. */
void
files__destroy(struct files *files)
{
	if (files == NULL)
		return;
	for (uint32_t i = 0; i < files->count; i++)
		free(files->entries[i].blocks_read);
	free(files->entries);
	free(files->slots);
	free(files->by_number);
	free(files->rows);
	free(files);
}

/* Where an entry is in the table, or would be. */
static uint32_t *
find_slot(const struct files *files, const struct relpath_key *key)
{
	uint64_t	hash = 0;
	uint32_t	at;

	hash = (hash ^ key->spc) * UINT64_C(0x9E3779B97F4A7C15);
	hash = (hash ^ key->db) * UINT64_C(0x9E3779B97F4A7C15);
	hash = (hash ^ key->rel) * UINT64_C(0x9E3779B97F4A7C15);
	hash = (hash ^ key->segment) * UINT64_C(0x9E3779B97F4A7C15);
	hash = (hash ^ ((uint32_t) key->kind << 8 | key->fork)) * UINT64_C(0x9E3779B97F4A7C15);
	for (at = (uint32_t) (hash >> 32);; at++)
	{
		uint32_t   *slot = &files->slots[at & (files->slot_count - 1)];

		if (*slot == 0 || memcmp(&files->entries[*slot - 1].key, key, sizeof(*key)) == 0)
			return slot;
	}
}

/* Give the table twice as many slots. */
static int
widen(struct files *files)
{
	uint32_t   *old = files->slots;
	uint32_t   *slots = calloc(files->slot_count * 2, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	files->slots = slots;
	files->slot_count *= 2;
	for (uint32_t i = 0; i < files->count; i++)
		*find_slot(files, &files->entries[i].key) = i + 1;
	free(old);
	return 0;
}

/* Add an entry that is not there. */
static uint32_t
add_entry(struct files *files, const struct relpath_key *key, uint32_t row)
{
	/* Names come from others, too. */
	if (files->count >= MAX_ENTRIES)
		return FILES_NONE;
	if ((files->count + 1) * 2 > files->slot_count && widen(files) < 0)
		return FILES_NONE;
	if (files->count == files->room)
	{
		uint32_t	room = files->room == 0 ? FIRST_SLOTS : files->room * 2;
		struct file_entry *entries = realloc(files->entries, room * sizeof(*entries));

		if (entries == NULL)
			return FILES_NONE;
		files->entries = entries;
		files->room = room;
	}
	files->entries[files->count] = (struct file_entry) {.key = *key,.row = row};
	files->count++;
	*find_slot(files, key) = files->count;
	return files->count - 1;
}

/* The row for all segments of what a key names. */
static uint32_t
row_of(struct files *files, const struct relpath_key *key)
{
	struct relpath_key all = *key;
	uint32_t   *rows;
	uint32_t	entry;
	uint32_t	known;

	all.segment = ALL_SEGMENTS;
	known = *find_slot(files, &all);
	if (known != 0)
		return files->entries[known - 1].row;
	rows = realloc(files->rows, (files->row_count + 1) * sizeof(*rows));
	if (rows == NULL)
		return FILES_NONE;
	files->rows = rows;
	entry = add_entry(files, &all, files->row_count);
	if (entry == FILES_NONE)
		return FILES_NONE;
	rows[files->row_count] = entry;
	return files->row_count++;
}

/* The file of a key, a new one if need be; FILES_NONE if there is no memory. */
uint32_t
files__of_key(struct files *files, const struct relpath_key *key)
{
	uint32_t	known = *find_slot(files, key);
	uint32_t	row = FILES_NONE;

	if (known != 0)
		return known - 1;
	if (key->kind != RELPATH_KIND_WAL && (row = row_of(files, key)) == FILES_NONE)
		return FILES_NONE;
	return add_entry(files, key, row);
}

/* Find the tablespace that lies in a directory of this name; "0" if none does. */
static void
find_tablespace(const struct files *files, const char *name, char oid[16])
{
	char		path[PATH_MAX + 16];
	struct dirent *entry;
	DIR		   *directory;

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
		target[length < 0 ? 0 : length] = '\0';
		base = strrchr(target, '/');
		if ((length < 0 && strcmp(entry->d_name, name) == 0) ||
			(base != NULL && strncmp(base + 1, name, TRACE_NAME_BYTES - 1) == 0))
		{
			memcpy(oid, entry->d_name, strlen(entry->d_name) + 1);
			break;
		}
	}
	closedir(directory);
}

static bool
is_wal_name(const char *name)
{
	return strlen(name) == 24 && strspn(name, "0123456789ABCDEF") == 24;
}

/* Put a path relative to the data directory together from names. */
static void
make_path(struct files *files, const struct trace_file *event, char path[RELPATH_BYTES])
{
	char		names[TRACE_NAMES][TRACE_NAME_BYTES];
	char		oid[16];

	memcpy(names, event->names, sizeof(names));
	for (int i = 0; i < TRACE_NAMES; i++)
		names[i][TRACE_NAME_BYTES - 1] = '\0';

	if (is_wal_name(names[0]))
		snprintf(path, RELPATH_BYTES, "pg_wal/%s", names[0]);
	else if (strcmp(names[1], "global") == 0 || strncmp(names[1], "pg_", 3) == 0)
		snprintf(path, RELPATH_BYTES, "%s/%s", names[1], names[0]);
	else if (strncmp(names[2], "PG_", 3) == 0 &&
			 names[2][strspn(names[2], "0123456789PG_")] == '\0')
	{
		memcpy(files->tablespace_dir, names[2], sizeof(files->tablespace_dir));
		find_tablespace(files, names[3], oid);
		snprintf(path, RELPATH_BYTES, "pg_tblspc/%s/%s/%s/%s", oid, names[2], names[1], names[0]);
	}
	else
		snprintf(path, RELPATH_BYTES, "%s/%s/%s", names[2], names[1], names[0]);
}

/* The kernel has numbered a file.  -ENOMEM if that cannot be kept. */
int
files__met(struct files *files, const struct trace_file *event)
{
	char		path[RELPATH_BYTES];
	struct relpath_key key;

	if (event->file >= MAX_NUMBER)
		return -EINVAL;
	if (event->file >= files->numbers)
	{
		uint32_t	numbers = files->numbers == 0 ? FIRST_SLOTS : files->numbers;
		uint32_t   *by_number;

		while (numbers <= event->file)
			numbers *= 2;
		by_number = realloc(files->by_number, numbers * sizeof(*by_number));
		if (by_number == NULL)
			return -ENOMEM;
		for (uint32_t i = files->numbers; i < numbers; i++)
			by_number[i] = FILES_NONE;
		files->by_number = by_number;
		files->numbers = numbers;
	}
	make_path(files, event, path);
	if (event->named && relpath__parse(path, &key) == 0)
		files->by_number[event->file] = files__of_key(files, &key);
	return 0;
}

/* The file that the kernel has given a number. */
uint32_t
files__of_number(const struct files *files, uint32_t number)
{
	return number < files->numbers ? files->by_number[number] : FILES_NONE;
}

/* What a file is. */
const struct relpath_key *
files__key(const struct files *files, uint32_t file)
{
	return &files->entries[file].key;
}

/* The row of the report that a file belongs to, FILES_NONE for WAL. */
uint32_t
files__row(const struct files *files, uint32_t file)
{
	return files->entries[file].row;
}

/* Note that redo has read a block; had it read it before? */
bool
files__was_read(struct files *files, uint32_t file, uint32_t block)
{
	struct file_entry *entry = &files->entries[file];
	uint8_t		bit = (uint8_t) (1 << block % 8);
	uint32_t	at = block / 8;
	bool		before;

	if (at >= entry->blocks_read_bytes)
	{
		uint32_t	bytes = (at / BITS_STEP + 1) * BITS_STEP;
		uint8_t    *grown = realloc(entry->blocks_read, bytes);

		if (grown == NULL)
			return false;
		memset(grown + entry->blocks_read_bytes, 0, bytes - entry->blocks_read_bytes);
		entry->blocks_read = grown;
		entry->blocks_read_bytes = bytes;
	}
	before = (entry->blocks_read[at] & bit) != 0;
	entry->blocks_read[at] |= bit;
	return before;
}

/* Rows so far. */
uint32_t
files__rows(const struct files *files)
{
	return files->row_count;
}

/* What a row is about; its segment means nothing. */
const struct relpath_key *
files__row_key(const struct files *files, uint32_t row)
{
	return &files->entries[files->rows[row]].key;
}

/* The path of a row: of its first segment, or its SLRU's directory. */
void
files__row_path(const struct files *files, uint32_t row, char path[RELPATH_BYTES])
{
	struct relpath_key key = *files__row_key(files, row);
	struct relpath_layout layout = {0};

	memcpy(layout.tablespace_dir, files->tablespace_dir, sizeof(files->tablespace_dir));
	key.segment = 0;
	relpath__format(&key, &layout, path);
	if (key.kind == REDOAHEAD_KIND_SLRU)
		*strrchr(path, '/') = '\0';
}
