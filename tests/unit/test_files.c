/*
 * test_files.c
 *		Which tablespace a file is in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "trace/files.h"
#include "unit.h"

#define TABLESPACE_DIR	"PG_18_202506291"

static char root[] = "/var/tmp/redoahead-files.XXXXXX";

static int
run(const char *script)
{
	char		command[512];

	snprintf(command, sizeof(command), "cd %s && %s", root, script);
	return system(command);
}

/* Three tablespaces: 1 and 2 at directories of the same name, and 3 at another one. */
static int
make_tablespaces(void **state)
{
	if (mkdtemp(root) == NULL)
		return -1;
	return run("mkdir pg_tblspc && for i in a/space b/space c/other; do"
			   " mkdir -p $i/" TABLESPACE_DIR "/5 && touch $i/" TABLESPACE_DIR "/5/16384 || exit 1;"
			   " done && ln -s ../a/space pg_tblspc/1 && ln -s ../b/space pg_tblspc/2 &&"
			   " ln -s ../c/other pg_tblspc/3");
}

static int
remove_tablespaces(void **state)
{
	return run("rm -rf \"$PWD\"");
}

/* The path that a file gets; path of NULL: it has been dropped. */
static void
expect(const char *path, const char *name, const char *location, const char *expected)
{
	struct trace_file event = {.type = TRACE_EVENT_FILE,.named = 1,.file = 1};
	char		found[RELPATH_BYTES];
	struct files *files;
	struct stat st;

	if (path != NULL)
	{
		snprintf(found, sizeof(found), "%s/%s/" TABLESPACE_DIR "/5/%s", root, path, name);
		assert_int_equal(stat(found, &st), 0);
		event.key.inode = st.st_ino;
		event.key.device = major(st.st_dev) << 20 | minor(st.st_dev);
	}
	strcpy(event.names[0], name);
	strcpy(event.names[1], "5");
	strcpy(event.names[2], TABLESPACE_DIR);
	strcpy(event.names[3], location);
	assert_int_equal(files__create(&files, root, 131072), 0);
	assert_int_equal(files__add(files, &event), 0);
	files__row_path(files, files__place(files, 1).row, found);
	assert_string_equal(found, expected);
	files__destroy(files);
}

TEST(test_file_is_found_in_its_tablespace)
{
	expect("a/space", "16384", "space", "pg_tblspc/1/" TABLESPACE_DIR "/5/16384");
	expect("b/space", "16384", "space", "pg_tblspc/2/" TABLESPACE_DIR "/5/16384");
	/* Whatever the link is called. */
	expect("c/other", "16384", "moved", "pg_tblspc/3/" TABLESPACE_DIR "/5/16384");
}

TEST(test_dropped_file_is_found_by_name_if_that_is_unique)
{
	expect(NULL, "16385", "other", "pg_tblspc/3/" TABLESPACE_DIR "/5/16385");
	expect(NULL, "16385", "space", "pg_tblspc/0/" TABLESPACE_DIR "/5/16385");
	expect(NULL, "16385", "elsewhere", "pg_tblspc/0/" TABLESPACE_DIR "/5/16385");
}

UNIT_MAIN(make_tablespaces, remove_tablespaces, NULL, NULL)
