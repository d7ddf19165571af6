/*
 * relpath.c
 *		From a block reference to the segment file that holds the block, and back.
 *
 * A reference comes from another process and may hold anything: every field is
 * checked here, and only here, before it becomes part of a path.  Paths are relative
 * to the data directory.  Does not access the file system.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/relpath.h"

/* PostgreSQL's InvalidBlockNumber. */
#define INVALID_BLOCK_NUMBER	UINT32_MAX

/* SLRU segment numbers have at most six hexadecimal digits, but for those of 15. */
#define MAX_SLRU_SEGMENT	0xFFFFFF

static const char *const slru_directories[REDOAHEAD_SLRU_COUNT] = {
	[REDOAHEAD_SLRU_XACT] = "pg_xact",
	[REDOAHEAD_SLRU_MULTIXACT_OFFSET] = "pg_multixact/offsets",
	[REDOAHEAD_SLRU_MULTIXACT_MEMBER] = "pg_multixact/members",
	[REDOAHEAD_SLRU_COMMIT_TS] = "pg_commit_ts",
};

static const char *const fork_suffixes[REDOAHEAD_FORK_COUNT] = {
	[REDOAHEAD_FORK_MAIN] = "",
	[REDOAHEAD_FORK_FSM] = "_fsm",
	[REDOAHEAD_FORK_VM] = "_vm",
	[REDOAHEAD_FORK_INIT] = "_init",
};

/* What is wrong with a reference; INVALID_REASON_COUNT if nothing is. */
static enum invalid_reason
check_ref(const struct redoahead_ref *ref)
{
	if (ref->kind == REDOAHEAD_KIND_SLRU)
	{
		if (ref->rel >= REDOAHEAD_SLRU_COUNT)
			return INVALID_SLRU;
		if (ref->block / REDOAHEAD_SLRU_PAGES_PER_SEGMENT > MAX_SLRU_SEGMENT)
			return INVALID_BLOCK;
		return INVALID_REASON_COUNT;
	}
	if (ref->kind != REDOAHEAD_KIND_RELATION)
		return INVALID_KIND;
	if (ref->fork >= REDOAHEAD_FORK_COUNT)
		return INVALID_FORK;
	if (ref->rel == 0)
		return INVALID_RELATION;
	if (ref->spc == 0 || (ref->spc == RELPATH_GLOBAL_TABLESPACE) != (ref->db == 0))
		return INVALID_DATABASE;
	if (ref->block == INVALID_BLOCK_NUMBER)
		return INVALID_BLOCK;
	return INVALID_REASON_COUNT;
}

/*
 * Find the segment file of a reference, and the block's number within it.
 * Returns 0, or -1 with the reason why there can be no such block.
 */
int
relpath__resolve(const struct redoahead_ref *ref, const struct relpath_layout *layout,
				 struct relpath_key *key, uint32_t *block, enum invalid_reason *reason)
{
	*reason = check_ref(ref);
	if (*reason != INVALID_REASON_COUNT)
		return -1;

	memset(key, 0, sizeof(*key));
	key->kind = ref->kind;
	key->rel = ref->rel;
	if (ref->kind == REDOAHEAD_KIND_SLRU)
	{
		key->segment = ref->block / REDOAHEAD_SLRU_PAGES_PER_SEGMENT;
		*block = ref->block % REDOAHEAD_SLRU_PAGES_PER_SEGMENT;
		return 0;
	}
	key->spc = ref->spc;
	key->db = ref->db;
	key->fork = ref->fork;
	key->segment = ref->block / layout->segment_blocks;
	*block = ref->block % layout->segment_blocks;
	return 0;
}

/* The path of a segment file, relative to the data directory. */
void
relpath__format(const struct relpath_key *key, const struct relpath_layout *layout,
				char path[RELPATH_BYTES])
{
	char		segment[16] = "";

	if (key->kind == REDOAHEAD_KIND_SLRU)
	{
		bool		is_long = layout->long_member_names && key->rel == REDOAHEAD_SLRU_MULTIXACT_MEMBER;

		snprintf(path, RELPATH_BYTES, "%s/%0*X", slru_directories[key->rel], is_long ? 15 : 4,
				 key->segment);
		return;
	}
	if (key->kind == RELPATH_KIND_WAL)
	{
		snprintf(path, RELPATH_BYTES, "pg_wal/%08X%08X%08X", key->spc, key->db, key->rel);
		return;
	}

	if (key->segment > 0)
		snprintf(segment, sizeof(segment), ".%u", key->segment);

	if (key->spc == RELPATH_GLOBAL_TABLESPACE)
		snprintf(path, RELPATH_BYTES, "global/%u%s%s",
				 key->rel, fork_suffixes[key->fork], segment);
	else if (key->spc == RELPATH_DEFAULT_TABLESPACE)
		snprintf(path, RELPATH_BYTES, "base/%u/%u%s%s",
				 key->db, key->rel, fork_suffixes[key->fork], segment);
	else
		snprintf(path, RELPATH_BYTES, "pg_tblspc/%u/%s/%u/%u%s%s",
				 key->spc, layout->tablespace_dir, key->db,
				 key->rel, fork_suffixes[key->fork], segment);
}

/* Parse a number and advance the text.  False if there is none. */
static bool
parse_number(const char **text, int base, uint32_t *number)
{
	unsigned long value;
	char	   *end;

	if (!isxdigit((unsigned char) **text))
		return false;
	errno = 0;
	value = strtoul(*text, &end, base);
	if (end == *text || errno != 0 || value > UINT32_MAX)
		return false;
	*number = (uint32_t) value;
	*text = end;
	return true;
}

/* Read REL[_FORK][.SEGMENT] to the end of the text. */
static bool
parse_relation(const char *text, struct relpath_key *key)
{
	if (!parse_number(&text, 10, &key->rel) || key->rel == 0)
		return false;
	for (uint8_t fork = REDOAHEAD_FORK_COUNT - 1; fork > 0; fork--)
	{
		size_t		length = strlen(fork_suffixes[fork]);

		if (strncmp(text, fork_suffixes[fork], length) == 0)
		{
			key->fork = fork;
			text += length;
			break;
		}
	}
	if (*text == '.')
	{
		text++;
		if (!parse_number(&text, 10, &key->segment))
			return false;
	}
	return *text == '\0';
}

/* Read the name of a WAL segment. */
static bool
parse_wal(const char *text, struct relpath_key *key)
{
	char		part[9] = "";
	uint32_t   *const parts[] = {&key->spc, &key->db, &key->rel};

	if (strlen(text) != 24)
		return false;
	for (int i = 0; i < 3; i++, text += 8)
	{
		const char *at = part;

		memcpy(part, text, 8);
		if (!parse_number(&at, 16, parts[i]) || *at != '\0')
			return false;
	}
	key->kind = RELPATH_KIND_WAL;
	return true;
}

/* Text behind a prefix, NULL if it begins with something else. */
static const char *
behind(const char *text, const char *prefix)
{
	size_t		length = strlen(prefix);

	return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/*
 * Find what a file of the cluster holds, from its path relative to the data
 * directory.  Returns 0, or -1 if it is none that redo reads blocks from.
 */
int
relpath__parse(const char *path, struct relpath_key *key)
{
	const char *rest;

	memset(key, 0, sizeof(*key));
	if ((rest = behind(path, "pg_wal/")) != NULL)
		return parse_wal(rest, key) ? 0 : -1;
	if ((rest = behind(path, "global/")) != NULL)
	{
		key->spc = RELPATH_GLOBAL_TABLESPACE;
		return parse_relation(rest, key) ? 0 : -1;
	}
	if ((rest = behind(path, "base/")) != NULL)
	{
		key->spc = RELPATH_DEFAULT_TABLESPACE;
		return parse_number(&rest, 10, &key->db) && *rest == '/' &&
			parse_relation(rest + 1, key) ? 0 : -1;
	}
	if ((rest = behind(path, "pg_tblspc/")) != NULL)
	{
		if (!parse_number(&rest, 10, &key->spc) || (rest = behind(rest, "/PG_")) == NULL ||
			(rest = strchr(rest, '/')) == NULL)
			return -1;
		rest++;
		return parse_number(&rest, 10, &key->db) && *rest == '/' &&
			parse_relation(rest + 1, key) ? 0 : -1;
	}
	for (uint32_t slru = 0; slru < REDOAHEAD_SLRU_COUNT; slru++)
		if ((rest = behind(path, slru_directories[slru])) != NULL && *rest++ == '/')
		{
			key->kind = REDOAHEAD_KIND_SLRU;
			key->rel = slru;
			return parse_number(&rest, 16, &key->segment) && *rest == '\0' ? 0 : -1;
		}
	return -1;
}

/* PostgreSQL's name of a fork. */
const char *
relpath__fork_name(uint8_t fork)
{
	return fork == REDOAHEAD_FORK_MAIN ? "main" : fork_suffixes[fork] + 1;
}

/* An SLRU's directory, relative to the data directory. */
const char *
relpath__slru_directory(uint32_t slru)
{
	return slru_directories[slru];
}

/* Name of a reason, as in the statistics file. */
const char *
relpath__invalid_name(enum invalid_reason reason)
{
	static const char *const names[INVALID_REASON_COUNT] = {
		[INVALID_KIND] = "kind",
		[INVALID_FORK] = "fork",
		[INVALID_SLRU] = "slru",
		[INVALID_RELATION] = "relation",
		[INVALID_DATABASE] = "database",
		[INVALID_BLOCK] = "block",
	};

	return names[reason];
}
