/*
 * test_config.c
 *		Settings from configuration files and from the server's command line.
 *
 * With another value than the server's, redoahead check reports a problem where there is
 * none, or none where there is one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/startcommand.h"
#include "unit.h"

static char root[] = "/var/tmp/redoahead-config.XXXXXX";
static struct config config;

static int
make_root(void **state)
{
	return mkdtemp(root) == NULL ? -1 : 0;
}

static int
remove_root(void **state)
{
	char		command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static int
set_up(void **state)
{
	config = (struct config) {0};
	return 0;
}

static int
tear_down(void **state)
{
	config__free(&config);
	return 0;
}

static const char *
path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void
write_file(const char *name, const char *text)
{
	FILE	   *file = fopen(path_of(name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* The value of a line with one setting; NULL: the line is refused. */
static const char *
value_of(const char *text)
{
	static char line[256];
	char	   *name;
	char	   *value;

	snprintf(line, sizeof(line), "%s", text);
	if (config_line__parse(line, &name, &value) != CONFIG_LINE_SETTING)
		return NULL;
	assert_string_equal(name, "name");
	return value;
}

TEST(lines)
{
	assert_string_equal(value_of("name = 'a b'"), "a b");
	assert_string_equal(value_of(" name  off # comment"), "off");
	assert_string_equal(value_of("name=4MB\r"), "4MB");
	assert_string_equal(value_of("name'x'"), "x");
	assert_string_equal(value_of("name = ''"), "");
	assert_string_equal(value_of("name = 0x1F"), "0x1F");
	assert_string_equal(value_of("name = -1.5e3"), "-1.5e3");
	assert_string_equal(value_of("name = pg_stat_tmp/redo-ahead:1"), "pg_stat_tmp/redo-ahead:1");
	assert_string_equal(value_of("name = 'it''s # \\'quoted\\' \\101\\t'"), "it's # 'quoted' A\t");
}

/* The server does not start with these. */
TEST(wrong_lines)
{
	assert_null(value_of("name"));
	assert_null(value_of("name ="));
	assert_null(value_of("name = 'open"));
	assert_null(value_of("name = 'open\\'"));
	assert_null(value_of("name = 1.5GB"));
	assert_null(value_of("name = two words"));
	assert_null(value_of("name = a.b"));
	assert_null(value_of("name = 'a' 'b'"));
	assert_null(value_of("name == 1"));
	assert_null(value_of("name-x = 1"));
	assert_null(value_of("= 1"));
	assert_null(value_of("\x7f" "ELF\x02\x01"));
}

TEST(empty_lines_have_no_setting)
{
	char		empty[][8] = {"", "  \t", "#a = 1", " # b"};
	char	   *name;
	char	   *value;

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		assert_int_equal(config_line__parse(empty[i], &name, &value), CONFIG_LINE_EMPTY);
}

/* The last one counts, whatever its case. */
TEST(order)
{
	write_file("a.conf", "Shared_Buffers = 1GB\nredoahead.socket = 'x'\nshared_buffers = 2GB\n");
	write_file("auto.conf", "# Do not edit\nshared_buffers = '3GB'");
	assert_int_equal(config__read(&config, path_of("a.conf")), 0);
	assert_string_equal(config__get(&config, "shared_buffers", ""), "2GB");
	assert_int_equal(config__find(&config, "shared_buffers")->line, 3);
	assert_int_equal(config__read(&config, path_of("auto.conf")), 0);
	assert_string_equal(config__get(&config, "shared_buffers", ""), "3GB");
	assert_string_equal(config__find(&config, "SHARED_BUFFERS")->origin, path_of("auto.conf"));
	assert_string_equal(config__get(&config, "redoahead.socket", ""), "x");
	assert_string_equal(config__get(&config, "huge_pages", "try"), "try");
	assert_int_equal(config.errors, 0);
}

TEST(includes)
{
	char		command[128];

	snprintf(command, sizeof(command), "mkdir -p %s/conf.d/d.conf", root);
	assert_int_equal(system(command), 0);
	write_file("main.conf", "a = 1\ninclude_dir 'conf.d'\nInclude = 'more.conf'\n"
			   "include_if_exists 'absent.conf'\nd = 1\n");
	write_file("conf.d/20.conf", "a = 20\nb = 20\n");
	write_file("conf.d/10.conf", "b = 10\ninclude '../deep.conf'\n");
	write_file("conf.d/.30.conf", "a = 30\n");
	write_file("conf.d/30.conf~", "a = 31\n");
	write_file("deep.conf", "e = 5\n");
	write_file("more.conf", "c = 3\nd = 3\n");
	assert_int_equal(config__read(&config, path_of("main.conf")), 0);
	assert_string_equal(config__get(&config, "a", ""), "20");
	assert_string_equal(config__get(&config, "b", ""), "20");
	assert_string_equal(config__get(&config, "c", ""), "3");
	assert_string_equal(config__get(&config, "d", ""), "1");
	assert_string_equal(config__get(&config, "e", ""), "5");
	assert_int_equal(config.errors, 0);
}

/* What is right is read all the same, and the first error is described. */
TEST(errors)
{
	char		expected[512];

	write_file("wrong.conf", "a = 1\nb = 'x\ninclude 'absent.conf'\ninclude_dir 'absent.d'\nc = 2\n");
	assert_int_equal(config__read(&config, path_of("wrong.conf")), 0);
	assert_string_equal(config__get(&config, "a", ""), "1");
	assert_string_equal(config__get(&config, "c", ""), "2");
	assert_int_equal(config.errors, 3);
	snprintf(expected, sizeof(expected), "%s/wrong.conf:2: syntax error", root);
	assert_string_equal(config.error, expected);
	assert_int_equal(config__read(&config, path_of("absent.conf")), -ENOENT);
	assert_int_equal(config__read(&config, root), -EINVAL);
}

/* Files that include each other come to an end, as in PostgreSQL. */
TEST(circles)
{
	write_file("circle.conf", "a = 1\ninclude_if_exists 'circle.conf'\n");
	assert_int_equal(config__read(&config, path_of("circle.conf")), 0);
	assert_int_equal(config.errors, 1);
	assert_non_null(strstr(config.error, "include each other"));
}

TEST(memory)
{
	uint64_t	bytes = 0;

	assert_true(config_value__bytes("16384", 8192, &bytes));
	assert_int_equal(bytes, 16384 * 8192);
	assert_true(config_value__bytes("1.5GB", 8192, &bytes));
	assert_int_equal(bytes, 1536 * 1024 * 1024ULL);
	assert_true(config_value__bytes(" 0x10 kB ", 1, &bytes));
	assert_int_equal(bytes, 16384);
	assert_true(config_value__bytes("2TB", 1, &bytes));
	assert_int_equal(bytes, 2ULL << 40);
	assert_true(config_value__bytes("512B", 1024, &bytes));
	assert_int_equal(bytes, 512);
	assert_false(config_value__bytes("4mb", 1, &bytes));
	assert_false(config_value__bytes("4MBs", 1, &bytes));
	assert_false(config_value__bytes("-1", 1, &bytes));
	assert_false(config_value__bytes("", 1, &bytes));
	assert_false(config_value__bytes("lots", 1, &bytes));
	assert_false(config_value__bytes("99999999999999TB", 1, &bytes));
}

TEST(flags)
{
	bool		flag = false;

	assert_true(config_value__flag("ON", &flag) && flag);
	assert_true(config_value__flag("of", &flag) && !flag);
	assert_true(config_value__flag("t", &flag) && flag);
	assert_true(config_value__flag("0", &flag) && !flag);
	assert_false(config_value__flag("o", &flag));
	assert_false(config_value__flag("", &flag));
	assert_false(config_value__flag("try", &flag));
	assert_false(config_value__flag("offf", &flag));
}

TEST(libraries)
{
	assert_true(config_value__lists("redoahead", "redoahead"));
	assert_true(config_value__lists("pg_stat_statements, \"$libdir/redoahead\" ", "redoahead"));
	assert_true(config_value__lists("/usr/lib/redoahead.so,x", "redoahead"));
	assert_false(config_value__lists("", "redoahead"));
	assert_false(config_value__lists("redoahead2, my_redoahead", "redoahead"));
}

TEST(command_of_the_server)
{
	static struct startcommand command;
	char		text[] = "/usr/lib/postgresql/18/bin/postgres \"-D\" \"/srv/my data\" \"-c\" "
		"\"config_file=/etc/postgresql/18/main/postgresql.conf\" \"--recovery-prefetch=off\" "
		"\"-i\" \"-cport=5433\"\n";
	char		odd[] = "\" \"\"-c";
	char		empty[] = "";

	assert_int_equal(startcommand__parse(&command, text), 0);
	assert_string_equal(command.program, "/usr/lib/postgresql/18/bin/postgres");
	assert_int_equal(command.settings.count, 3);
	assert_string_equal(config__get(&command.settings, "config_file", ""),
						"/etc/postgresql/18/main/postgresql.conf");
	assert_string_equal(config__get(&command.settings, "recovery_prefetch", ""), "off");
	assert_string_equal(config__get(&command.settings, "port", ""), "5433");
	startcommand__free(&command);
	command.program[0] = '\0';
	assert_int_equal(startcommand__parse(&command, odd), 0);
	assert_int_equal(startcommand__parse(&command, empty), 0);
	assert_string_equal(command.program, "");
	startcommand__free(&command);
}

/* Lost otherwise: full_page_writes, by a remedy against what only pg_upgrade has set. */
TEST(settings_of_pg_upgrade_do_not_count)
{
	static struct startcommand command;
	char		text[] = "/usr/lib/postgresql/18/bin/postgres \"-D\" \"/data\" \"-b\" \"-c\" "
		"\"full_page_writes=off\" \"-c\" \"config_file=/etc/postgresql.conf\"\n";

	assert_int_equal(startcommand__parse(&command, text), 0);
	assert_int_equal(command.settings.count, 1);
	assert_string_equal(config__get(&command.settings, "config_file", ""), "/etc/postgresql.conf");
	startcommand__free(&command);
}

UNIT_MAIN(make_root, remove_root, set_up, tear_down)
