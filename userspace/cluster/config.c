/*
 * config.c
 *		Reads the configuration files of a server as the server does: postgresql.conf with
 *		the files that it includes.
 *
 * Does not know which settings there are, nor what their values mean.  Errors for which
 * the server refuses the files are counted, the first is described, and reading goes on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/config.h"

/* How deep files may include others, as in PostgreSQL. */
#define MAX_DEPTH		10

/* Longest file, bytes. */
#define MAX_FILE_BYTES	(4 * 1024 * 1024)

static int	read_file(struct config *config, const char *path, unsigned depth);

/* Note an error; line 0: of the whole file. */
static void
note(struct config *config, const char *path, unsigned line, const char *what, const char *name)
{
	char		place[16] = "";

	if (line > 0)
		snprintf(place, sizeof(place), ":%u", line);
	if (config->errors++ == 0)
		snprintf(config->error, sizeof(config->error), "%s%s: %s%s%s%s", path, place, what,
				 name != NULL ? " \"" : "", name != NULL ? name : "", name != NULL ? "\"" : "");
}

/* Add an assignment behind the others.  0 or -ENOMEM. */
int
config__add(struct config *config, const char *name, const char *value, const char *origin,
			unsigned line)
{
	struct config_setting *setting;

	if (config->count == config->room)
	{
		size_t		room = config->room == 0 ? 64 : config->room * 2;
		void	   *more = reallocarray(config->settings, room, sizeof(*config->settings));

		if (more == NULL)
			return -ENOMEM;
		config->settings = more;
		config->room = room;
	}
	setting = &config->settings[config->count];
	*setting = (struct config_setting)
	{
		.name = strdup(name),.value = strdup(value),.origin = strdup(origin),.line = line
	};
	config->count++;
	return setting->name == NULL || setting->value == NULL || setting->origin == NULL ? -ENOMEM : 0;
}

/* Read a file whole; the caller frees the text. */
static int
read_whole(const char *path, char **text)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	ssize_t		n = 0;
	size_t		size = 0;
	int			err = 0;

	if (fd < 0)
		return -errno;
	*text = NULL;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_size > MAX_FILE_BYTES)
		err = -EFBIG;
	else if ((*text = malloc((size_t) st.st_size + 1)) == NULL)
		err = -ENOMEM;
	while (err == 0 && size < (size_t) st.st_size &&
		   (n = read(fd, *text + size, (size_t) st.st_size - size)) > 0)
		size += (size_t) n;
	if (n < 0)
		err = -errno;
	if (err == 0)
	{
		/* To the server, a zero is a character like others that mean nothing. */
		for (size_t i = 0; i < size; i++)
			if ((*text)[i] == '\0')
				(*text)[i] = '\1';
		(*text)[size] = '\0';
	}
	else
		free(*text);
	close(fd);
	return err;
}

/* A path relative to the directory of the file that names it. */
static void
locate(const char *from, const char *path, char located[PATH_MAX])
{
	char		directory[PATH_MAX];

	if (path[0] == '/')
	{
		snprintf(located, PATH_MAX, "%s", path);
		return;
	}
	snprintf(directory, sizeof(directory), "%s", from);
	if (snprintf(located, PATH_MAX, "%s/%s", dirname(directory), path) >= PATH_MAX)
		located[0] = '\0';
}

/* Which files of a directory are included? */
static int
is_included(const struct dirent *entry)
{
	size_t		length = strlen(entry->d_name);

	return length >= 6 && entry->d_name[0] != '.' &&
		strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Include the files of a directory, sorted by name. */
static int
include_directory(struct config *config, const char *from, unsigned line, const char *path,
				  unsigned depth)
{
	struct dirent **entries;
	int			count = scandir(path, &entries, is_included, by_name);
	int			err = 0;

	if (count < 0)
	{
		note(config, from, line, "there is no directory", path);
		return 0;
	}
	for (int i = 0; i < count; i++)
	{
		char		file[PATH_MAX];
		struct stat st;

		if (err == 0 && snprintf(file, sizeof(file), "%s/%s", path,
								 entries[i]->d_name) < (int) sizeof(file) &&
			!(stat(file, &st) == 0 && S_ISDIR(st.st_mode)))
		{
			err = read_file(config, file, depth + 1);
			if (err < 0 && err != -ENOMEM)
			{
				note(config, from, line, strerror(-err), file);
				err = 0;
			}
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

/* Take what a line assigns; names that include others are case-insensitive, too. */
static int
take(struct config *config, const char *from, unsigned line, const char *name,
	 const char *value, unsigned depth)
{
	bool		optional = strcasecmp(name, "include_if_exists") == 0;
	char		path[PATH_MAX];
	int			err;

	if (!optional && strcasecmp(name, "include") != 0 && strcasecmp(name, "include_dir") != 0)
		return config__add(config, name, value, from, line);
	locate(from, value, path);
	if (strcasecmp(name, "include_dir") == 0)
		return include_directory(config, from, line, path, depth);
	err = read_file(config, path, depth + 1);
	if (err == -ENOMEM || err == 0)
		return err;
	if (!optional || err == -ELOOP)
		note(config, from, line, err == -ELOOP ? "too many files include each other at" :
			 strerror(-err), path);
	return 0;
}

/* Read one file and what it includes. */
static int
read_file(struct config *config, const char *path, unsigned depth)
{
	unsigned	number = 0;
	char	   *text = NULL;
	char	   *line;
	char	   *next;
	int			err;

	if (depth > MAX_DEPTH)
		return -ELOOP;
	err = read_whole(path, &text);
	if (err < 0)
		return err;
	for (next = text; err == 0 && (line = strsep(&next, "\n")) != NULL;)
	{
		char	   *name;
		char	   *value;

		number++;
		switch (config_line__parse(line, &name, &value))
		{
			case CONFIG_LINE_SETTING:
				err = take(config, path, number, name, value, depth);
				break;
			case CONFIG_LINE_WRONG:
				note(config, path, number, "syntax error", NULL);
				break;
			case CONFIG_LINE_EMPTY:
				break;
		}
	}
	free(text);
	return err;
}

/*
 * Add the settings of a file and of those that it includes.  Returns 0, or -errno if the
 * file cannot be read; errors in it are in config.
 */
int
config__read(struct config *config, const char *path)
{
	return read_file(config, path, 0);
}

/* Free what was read. */
void
config__free(struct config *config)
{
	for (size_t i = 0; i < config->count; i++)
	{
		free(config->settings[i].name);
		free(config->settings[i].value);
		free(config->settings[i].origin);
	}
	free(config->settings);
	*config = (struct config) {0};
}

/* The assignment of a setting that counts; NULL: there is none. */
const struct config_setting *
config__find(const struct config *config, const char *name)
{
	for (size_t i = config->count; i > 0; i--)
		if (strcasecmp(config->settings[i - 1].name, name) == 0)
			return &config->settings[i - 1];
	return NULL;
}

/* The value of a setting, or its default. */
const char *
config__get(const struct config *config, const char *name, const char *initial)
{
	const struct config_setting *setting = config__find(config, name);

	return setting != NULL ? setting->value : initial;
}
