/*
 * startcommand.c
 *		The command that the server was last started with, from postmaster.opts.
 *
 * The server writes the path of its program there, and its arguments in double quotes.
 * Settings are those of -c and of long options; the few short options that are settings,
 * too, are not taken.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/startcommand.h"

/* Longest file, bytes. */
#define MAX_BYTES	(64 * 1024)

/*
 * Take NAME=VALUE; long options have dashes where the name has underscores.  Of a server that
 * pg_upgrade has started, with settings of its own, only the configuration file counts.
 */
static int
take(struct startcommand *command, char *assignment, bool upgrade)
{
	char	   *equals = strchr(assignment, '=');

	if (equals == NULL)
		return 0;
	*equals = '\0';
	for (char *at = assignment; *at != '\0'; at++)
		if (*at == '-')
			*at = '_';
	if (upgrade && strcmp(assignment, "config_file") != 0)
		return 0;
	return config__add(&command->settings, assignment, equals + 1, STARTCOMMAND_ORIGIN, 0);
}

/* Take the text of the file apart, in place. */
int
startcommand__parse(struct startcommand *command, char *text)
{
	bool		is_setting = false;
	bool		upgrade = strstr(text, " \"-b\"") != NULL;
	int			err = 0;
	char	   *at;

	text[strcspn(text, "\n")] = '\0';
	at = strstr(text, " \"");
	if (at != NULL)
		*at++ = '\0';
	if (text[0] == '/')
		snprintf(command->program, sizeof(command->program), "%s", text);
	while (err == 0 && at != NULL && *at == '"')
	{
		char	   *word = at + 1;

		/* Quotes are not escaped; no word of a server's arguments ends in one. */
		at = strstr(word, "\" \"");
		if (at != NULL)
		{
			*at = '\0';
			at += 2;
		}
		else
			word[strcspn(word, "\"")] = '\0';
		if (is_setting)
			err = take(command, word, upgrade);
		else if (strncmp(word, "--", 2) == 0)
			err = take(command, word + 2, upgrade);
		else if (strncmp(word, "-c", 2) == 0 && word[2] != '\0')
			err = take(command, word + 2, upgrade);
		is_setting = !is_setting && strcmp(word, "-c") == 0;
	}
	return err;
}

/* Read the file of a cluster; -ENOENT if its server was never started. */
int
startcommand__read(struct startcommand *command, const struct cluster *cluster)
{
	char		text[MAX_BYTES];
	int			n = cluster__read_file(cluster, "postmaster.opts", text, sizeof(text) - 1);

	*command = (struct startcommand) {0};
	if (n < 0)
		return n;
	text[n] = '\0';
	return startcommand__parse(command, text);
}

/* Free what was read. */
void
startcommand__free(struct startcommand *command)
{
	config__free(&command->settings);
}
