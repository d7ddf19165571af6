/*
 * options.h
 *		One table of options per subcommand: the parser, and the ranges and
 *		defaults that --help shows, come from it.
 */
#ifndef REDOAHEAD_CMD_OPTIONS_H
#define REDOAHEAD_CMD_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for a message about values that do not fit together, bytes. */
#define OPTIONS_MESSAGE_BYTES	256

/* What the value of an option is, and the type of the member that receives it. */
enum option_type
{
	OPTION_FLAG,				/* bool: the option takes no argument */
	OPTION_TEXT,				/* const char * */
	OPTION_CHOICE,				/* const char *: one of the words in "argument" */
	OPTION_INTEGER,				/* uint64_t */
	OPTION_DECIMAL				/* double */
};

/* One option.  A table ends with an option without a name. */
struct option_spec
{
	const char *name;			/* long name, without dashes */
	const char *argument;		/* placeholder of the value; OPTION_CHOICE: words with '|' between */
	enum option_type type;		/* of the value */
	size_t		offset;			/* of the member that receives the value, bytes */
	double		minimum;		/* least number, in the unit that the placeholder names */
	double		maximum;		/* greatest number, likewise */
	const char *initial;		/* default, as one would type it; NULL: none */
	const char *initial_text;	/* shown as the default in place of "initial", or NULL */
	const char *text;			/* what the option does */
	const char *bare;			/* value if the option is given without one; NULL: it needs one */
};

/* The words on a command line that are no options. */
struct option_words
{
	char	  **words;			/* the first one; they are not copied */
	unsigned	count;			/* how many */
};

/* A subcommand's command line. */
struct options_command
{
	const struct option_spec *options;	/* besides --pgdata and --verbose */
	const char *words;			/* placeholder of words that are no options, NULL: there are none */
	size_t		words_offset;	/* of the struct option_words that receives them, bytes */
	bool		pgdata_optional;	/* there may be no data directory */
	const char *doc;			/* what the subcommand does; after \v: notes behind the options */
	bool		(*check) (void *values, char message[OPTIONS_MESSAGE_BYTES]);	/* do the values fit
																				 * together?  NULL:
																				 * always */
};

int			options__parse(const struct options_command *command, int argc, char **argv,
						   const char **pgdata, void *values);
uint64_t	options__number(struct argp_state *state, const char *name, const char *text,
							uint64_t min, uint64_t max);

#endif							/* REDOAHEAD_CMD_OPTIONS_H */
