/*
 * test_relpath.c
 *		Which file holds a block, and which references name no block at all.
 */
#include <string.h>

#include "cluster/relpath.h"
#include "unit.h"

static const struct relpath_layout layout = {
	.block_size = 8192,.segment_blocks = 131072,.tablespace_dir = "PG_18_202506291",
};

/* The path and block of a reference, or what is wrong with it. */
static void
expect_path(struct redoahead_ref ref, const char *path, uint32_t block)
{
	struct relpath_key key;
	enum invalid_reason reason;
	char		got[RELPATH_BYTES];
	uint32_t	got_block;

	assert_int_equal(relpath__resolve(&ref, &layout, &key, &got_block, &reason), 0);
	relpath__format(&key, &layout, got);
	assert_string_equal(got, path);
	assert_int_equal(got_block, block);
}

static void
expect_invalid(struct redoahead_ref ref, enum invalid_reason expected)
{
	struct relpath_key key;
	enum invalid_reason reason;
	uint32_t	block;

	assert_int_equal(relpath__resolve(&ref, &layout, &key, &block, &reason), -1);
	assert_int_equal(reason, expected);
}

#define REL(...)	((struct redoahead_ref) {.spc = 1663,.db = 5,.rel = 16384, __VA_ARGS__})
#define OTHER(s, d, r, b) \
	((struct redoahead_ref) {.spc = (s),.db = (d),.rel = (r),.block = (b)})
#define SLRU(...)	((struct redoahead_ref) {.kind = REDOAHEAD_KIND_SLRU, __VA_ARGS__})

TEST(test_paths)
{
	expect_path(REL(.block = 0), "base/5/16384", 0);
	expect_path(REL(.block = 131071), "base/5/16384", 131071);
	expect_path(REL(.block = 131072), "base/5/16384.1", 0);
	expect_path(REL(.block = 4294967294), "base/5/16384.32767", 131070);
	expect_path(REL(.fork = 1), "base/5/16384_fsm", 0);
	expect_path(REL(.fork = 2,.block = 131073), "base/5/16384_vm.1", 1);
	expect_path(REL(.fork = 3), "base/5/16384_init", 0);
	expect_path(OTHER(1664, 0, 1262, 0), "global/1262", 0);
	expect_path(OTHER(70000, 5, 9, 131072),
				"pg_tblspc/70000/PG_18_202506291/5/9.1", 0);
	expect_path(SLRU(.rel = 0,.block = 31), "pg_xact/0000", 31);
	expect_path(SLRU(.rel = 0,.block = 32 * 0xABC + 1), "pg_xact/0ABC", 1);
	expect_path(SLRU(.rel = 1,.block = 32), "pg_multixact/offsets/0001", 0);
	expect_path(SLRU(.rel = 2,.block = 32 * 0x14078), "pg_multixact/members/14078", 0);
	expect_path(SLRU(.rel = 3), "pg_commit_ts/0000", 0);
}

/* Lost otherwise: pages of multixact members of PostgreSQL 19. */
TEST(test_long_names_of_members)
{
	struct relpath_layout long_names = {.long_member_names = true};
	struct relpath_key key = {.kind = REDOAHEAD_KIND_SLRU,.rel = 2,.segment = 0x14078};
	char		path[RELPATH_BYTES];

	relpath__format(&key, &long_names, path);
	assert_string_equal(path, "pg_multixact/members/000000000014078");
	assert_int_equal(relpath__parse(path, &key), 0);
	assert_int_equal(key.segment, 0x14078);
	key.rel = 1;
	relpath__format(&key, &long_names, path);
	assert_string_equal(path, "pg_multixact/offsets/14078");
}

TEST(test_longest_path_fits)
{
	struct relpath_layout long_layout = layout;
	struct relpath_key key = {
		.spc = UINT32_MAX,.db = UINT32_MAX,.rel = UINT32_MAX,.segment = UINT32_MAX,.fork = 3,
	};
	char		path[RELPATH_BYTES];

	memset(long_layout.tablespace_dir, 'x', sizeof(long_layout.tablespace_dir) - 1);
	relpath__format(&key, &long_layout, path);
	assert_string_equal(path + strlen(path) - 16, "_init.4294967295");
}

TEST(test_invalid)
{
	expect_invalid(REL(.kind = 2), INVALID_KIND);
	expect_invalid(REL(.fork = 4), INVALID_FORK);
	expect_invalid(SLRU(.rel = 4), INVALID_SLRU);
	expect_invalid(SLRU(.rel = 0,.block = 32 * 0x1000000U), INVALID_BLOCK);
	expect_invalid(OTHER(1663, 5, 0, 0), INVALID_RELATION);
	expect_invalid(OTHER(1663, 0, 16384, 0), INVALID_DATABASE);
	expect_invalid(OTHER(0, 5, 16384, 0), INVALID_DATABASE);
	expect_invalid(OTHER(1664, 5, 16384, 0), INVALID_DATABASE);
	expect_invalid(REL(.block = UINT32_MAX), INVALID_BLOCK);
}

/* Every path that is made can be understood again, and nothing else can. */
TEST(test_back)
{
	static const char *const paths[] = {
		"base/5/16384", "base/5/16384.1", "base/5/16384_fsm", "base/5/16384_vm.1",
		"base/5/16384_init", "global/1262", "global/1262_vm",
		"pg_tblspc/16385/PG_18_202506291/5/16386_fsm.2", "pg_xact/00FF",
		"pg_multixact/offsets/0001", "pg_multixact/members/12345", "pg_commit_ts/0000",
		"pg_wal/0000000A00000001000000FF",
	};
	static const char *const others[] = {
		"", "base", "base/", "base/5", "base/5/", "base/5/PG_VERSION", "base/5/16384x",
		"base/5/16384_fsmx", "base/5/16384.", "base/5/16384.x", "base/x/16384", "base/5/0",
		"base/5/4294967296", "base/5/-1", "global/pg_control", "pg_xact/", "pg_xact/xyz",
		"pg_xact", "pg_tblspc/16385/5/16386", "pg_tblspc/16385/PG_18_202506291/16386",
		"pg_wal/archive_status", "pg_wal/0000000A00000001000000FG", "pg_wal/00000001.history",
		"usr/lib/libc.so",
	};
	struct relpath_key key;
	char		got[RELPATH_BYTES];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
	{
		assert_int_equal(relpath__parse(paths[i], &key), 0);
		relpath__format(&key, &layout, got);
		assert_string_equal(got, paths[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (relpath__parse(others[i], &key) == 0)
			fail_msg("\"%s\" counts as a file of blocks", others[i]);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
