/*
 * test_relpath.c
 *		Which file holds a block, and which references name no block at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/relpath.h"

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

static void
test_paths(void **state)
{
	(void) state;
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

static void
test_longest_path_fits(void **state)
{
	struct relpath_layout long_layout = layout;
	struct relpath_key key = {
		.spc = UINT32_MAX,.db = UINT32_MAX,.rel = UINT32_MAX,.segment = UINT32_MAX,.fork = 3,
	};
	char		path[RELPATH_BYTES];

	(void) state;
	memset(long_layout.tablespace_dir, 'x', sizeof(long_layout.tablespace_dir) - 1);
	relpath__format(&key, &long_layout, path);
	assert_string_equal(path + strlen(path) - 16, "_init.4294967295");
}

static void
test_invalid(void **state)
{
	(void) state;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_longest_path_fits),
		cmocka_unit_test(test_invalid),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
