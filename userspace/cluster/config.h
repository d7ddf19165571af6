/*
 * config.h
 *		The settings of a server, from its configuration files.
 */
#ifndef REDOAHEAD_CLUSTER_CONFIG_H
#define REDOAHEAD_CLUSTER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the description of an error, bytes. */
#define CONFIG_ERROR_BYTES	512

/* One assignment of a value. */
struct config_setting
{
	char	   *name;			/* as written */
	char	   *value;			/* without quotes */
	char	   *origin;			/* the file, or what else the value comes from */
	unsigned	line;			/* of the file, from 1; 0: not from a file */
};

/* All assignments in the order in which they take effect: the last one of a name counts. */
struct config
{
	struct config_setting *settings;	/* the first one */
	size_t		count;			/* how many */
	size_t		room;			/* for how many there is memory */
	unsigned	errors;			/* errors for which the server refuses the files */
	char		error[CONFIG_ERROR_BYTES];	/* the first of them */
};

/* One line of a file. */
enum config_line
{
	CONFIG_LINE_EMPTY,			/* nothing, or a comment */
	CONFIG_LINE_SETTING,		/* a name and a value */
	CONFIG_LINE_WRONG			/* the server reports a syntax error */
};

int			config__read(struct config *config, const char *path);
int			config__add(struct config *config, const char *name, const char *value,
						const char *origin, unsigned line);
void		config__free(struct config *config);
const struct config_setting *config__find(const struct config *config, const char *name);
const char *config__get(const struct config *config, const char *name, const char *initial);

enum config_line config_line__parse(char *line, char **name, char **value);

bool		config_value__bytes(const char *text, uint64_t unit, uint64_t *bytes);
bool		config_value__flag(const char *text, bool *flag);
bool		config_value__lists(const char *list, const char *library);

#endif							/* REDOAHEAD_CLUSTER_CONFIG_H */
