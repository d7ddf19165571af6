/*
 * configuration.c
 *		Finds and reads the server's configuration, and writes remedies for settings.
 *
 * Settings count in the server's order: postgresql.conf with what it includes,
 * postgresql.auto.conf, and the command line of the last start.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/check_internal.h"

/* Where Debian has the configuration of its clusters; %d is the major version. */
#define DEBIAN_PATTERN	"/etc/postgresql/%d/*/postgresql.conf"

/* Debian's configuration of this data directory, if there is one. */
static bool
find_by_data_directory(const struct check *check, char path[PATH_MAX])
{
	char		pattern[64];
	glob_t		found = {0};
	bool		is_found = false;

	snprintf(pattern, sizeof(pattern), DEBIAN_PATTERN, check->cluster.major);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && !is_found; i++)
		{
			struct config config = {0};

			if (config__read(&config, found.gl_pathv[i]) == 0 &&
				cluster__is_at(&check->cluster, config__get(&config, "data_directory", "")))
			{
				snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]);
				is_found = true;
			}
			config__free(&config);
		}
	globfree(&found);
	return is_found;
}

/* Find the file: where the user has it, that of the last start, in the data directory, Debian's. */
static void
find_file(const struct check *check, char path[PATH_MAX])
{
	const char *started = config__get(&check->start.settings, "config_file", "");

	if (check->options->config_file != NULL)
		snprintf(path, PATH_MAX, "%s", check->options->config_file);
	else if (started[0] == '/' && access(started, F_OK) == 0)
		snprintf(path, PATH_MAX, "%s", started);
	else if (faccessat(check->cluster.dirfd, "postgresql.conf", F_OK, 0) == 0 ||
			 !find_by_data_directory(check, path))
	{
		if (snprintf(path, PATH_MAX, "%s/postgresql.conf", check->cluster.path) >= PATH_MAX)
			path[0] = '\0';
	}
}

/* Read a file; add a problem if it cannot be read. */
static bool
read_config(struct check *check, const char *path)
{
	int			err = config__read(&check->config, path);

	if (err == 0)
		return true;
	needs__add(&check->needs, "configuration", NEED_PROBLEM, "%s: %s", path,
			   err == -EINVAL ? "not a file" : strerror(-err));
	needs__remedy(&check->needs, "redoahead check --config-file=FILE -D %s", check->pgdata);
	return false;
}

/* The configuration: found, and without errors for which the server refuses it. */
void
check__configuration(struct check *check)
{
	struct needs *needs = &check->needs;
	char		path[PATH_MAX];
	char		automatic[PATH_MAX];

	find_file(check, path);
	if (!read_config(check, path))
		return;
	if (snprintf(automatic, sizeof(automatic), "%s/postgresql.auto.conf",
				 check->cluster.path) < (int) sizeof(automatic) &&
		access(automatic, F_OK) == 0 && !read_config(check, automatic))
		return;
	snprintf(check->config_file, sizeof(check->config_file), "%s", path);
	for (size_t i = 0; i < check->start.settings.count; i++)
	{
		const struct config_setting *setting = &check->start.settings.settings[i];

		if (config__add(&check->config, setting->name, setting->value, setting->origin, 0) < 0)
			break;
	}
	if (check->config.errors > 0)
	{
		needs__add(needs, "configuration", NEED_PROBLEM, "%s%s: the server refuses it",
				   check->config.error, check->config.errors > 1 ? ", and others" : "");
		needs__remedy(needs, "correct the line");
		needs__number(needs, "errors", check->config.errors);
		return;
	}
	needs__add(needs, "configuration", NEED_OK, "%s", path);
	needs__number(needs, "settings", check->config.count);
}

/* Write a value of SQL: each element of a list is quoted by itself. */
static void
quote(char *text, size_t size, const char *value)
{
	size_t		used = 0;

	text[0] = '\0';
	do
	{
		size_t		length;

		value += strspn(value, " \t,\"'");
		length = strcspn(value, ",\"'");
		while (length > 0 && value[length - 1] == ' ')
			length--;
		used += (size_t) snprintf(text + used, size - used, "%s'%.*s'", used > 0 ? ", " : "",
								  (int) length, value);
		value += length;
		value += strspn(value, " \t,\"'");
	}
	while (*value != '\0' && used < size);
}

/* Does a shell leave a value as it is, in double quotes and in single ones? */
static bool
is_plain(const char *value)
{
	return value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
						" ,._/-")] == '\0';
}

/*
 * Add the remedy that sets a value: a command if the server takes connections, else a line
 * for the file.
 */
void
check__set(struct check *check, const char *name, const char *value, bool restart)
{
	const struct config_setting *setting = config__find(&check->config, name);
	const char *file = setting != NULL ? setting->origin : check->config_file;
	const char *as_owner = check__as_owner(check, file);
	char		quoted[512];
	char		word[CHECK_WORD_BYTES];

	if (setting != NULL && setting->line == 0)
		needs__remedy(&check->needs, "start the server without %s on its command line", name);
	else if (!is_plain(value))
		needs__remedy(&check->needs, "set %s = %s in %s%s", name, value, file,
					  restart ? " and restart the server" : "");
	else if (check->psql[0] != '\0')
	{
		quote(quoted, sizeof(quoted), value);
		needs__remedy(&check->needs, "%s -c \"ALTER SYSTEM SET %s = %s\"%s", check->psql, name,
					  quoted, restart ? " # and restart the server" : " -c \"SELECT pg_reload_conf()\"");
	}
	else
	{
		check__word(word, file);
		if (as_owner[0] != '\0')
			needs__remedy(&check->needs, "echo \"%s = '%s'\" | %stee -a %s", name, value, as_owner,
						  word);
		else
			needs__remedy(&check->needs, "echo \"%s = '%s'\" >>%s", name, value, word);
	}
}
