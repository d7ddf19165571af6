/*
 * options.c
 *		Parses the options of a subcommand from its table, and makes the text of
 *		--help from the same table.
 *
 * Wrong usage ends the program with a message, as argp does it.  -D, -v and the
 * rejection of other arguments are common to all subcommands.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/options.h"

/* Keys of a table's options, which have no short names: this one and up. */
#define FIRST_KEY		256

/* A command line that is being parsed. */
struct parse
{
	const struct options_command *command;	/* what to expect */
	const char **pgdata;		/* receives the data directory */
	void	   *values;			/* receives the values of the table's options */
};

/* The number that an option is given, from min to max. */
uint64_t
options__number(struct argp_state *state, const char *name, const char *text,
				uint64_t min, uint64_t max)
{
	char	   *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' ||
		number < min || number > max)
		argp_error(state, "--%s=%s: not a number from %llu to %llu", name, text,
				   (unsigned long long) min, (unsigned long long) max);
	return number;
}

static double
parse_decimal(struct argp_state *state, const struct option_spec *option, const char *text)
{
	char	   *end;
	double		number;

	errno = 0;
	number = strtod(text, &end);
	if (errno != 0 || end == text || *end != '\0' ||
		!(number >= option->minimum && number <= option->maximum))
		argp_error(state, "--%s=%s: not a number from %.15g to %.15g", option->name, text,
				   option->minimum, option->maximum);
	return number;
}

/* Is a word one of those in a list like "auto|on|off"? */
static bool
is_choice(const char *word, const char *choices)
{
	size_t		length = strlen(word);

	for (; choices != NULL; choices = strchr(choices, '|'))
	{
		choices += *choices == '|';
		if (strcspn(choices, "|") == length && strncmp(choices, word, length) == 0)
			return true;
	}
	return false;
}

/* Store the value of an option, text NULL for a flag. */
static void
set_value(struct argp_state *state, const struct option_spec *option, const char *text,
		  void *values)
{
	void	   *member = (char *) values + option->offset;

	if (text == NULL)
		text = option->bare;
	switch (option->type)
	{
		case OPTION_FLAG:
			*(bool *) member = true;
			break;
		case OPTION_CHOICE:
			if (!is_choice(text, option->argument))
				argp_error(state, "--%s=%s: not one of %s", option->name, text, option->argument);
			*(const char **) member = text;
			break;
		case OPTION_TEXT:
			*(const char **) member = text;
			break;
		case OPTION_INTEGER:
			*(uint64_t *) member = options__number(state, option->name, text,
												   (uint64_t) option->minimum,
												   (uint64_t) option->maximum);
			break;
		case OPTION_DECIMAL:
			*(double *) member = parse_decimal(state, option, text);
			break;
	}
}

/*
 * What all subcommands do alike: -D, whose default is $PGDATA, -v, and no other
 * arguments.  ARGP_ERR_UNKNOWN for all else.
 */
static error_t
parse_common(int key, char *value, struct argp_state *state, const struct parse *parse)
{
	const char **pgdata = parse->pgdata;

	switch (key)
	{
		case 'D':
			*pgdata = value;
			break;
		case 'v':
			log__set_verbose(1);
			break;
		case ARGP_KEY_ARG:
			argp_error(state, "too many arguments (first is \"%s\")", value);
			break;
		case ARGP_KEY_END:
			if (pgdata == NULL || parse->command->pgdata_optional)
				break;
			if (*pgdata == NULL)
				*pgdata = getenv("PGDATA");
			if (*pgdata == NULL || (*pgdata)[0] == '\0')
				argp_error(state, "no data directory; give one with -D or in PGDATA");
			break;
		default:
			return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t
parse_option(int key, char *value, struct argp_state *state)
{
	struct parse *parse = state->input;
	const struct options_command *command = parse->command;
	char		message[OPTIONS_MESSAGE_BYTES];
	unsigned	count = 0;

	while (command->options[count].name != NULL)
		count++;
	if (key >= FIRST_KEY && key < FIRST_KEY + (int) count)
	{
		set_value(state, &command->options[key - FIRST_KEY], value, parse->values);
		return 0;
	}
	if (command->words != NULL && key == ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;	/* have them all at once */
	if (command->words != NULL && key == ARGP_KEY_ARGS)
	{
		struct option_words *words =
			(struct option_words *) ((char *) parse->values + command->words_offset);

		words->words = state->argv + state->next;
		words->count = (unsigned) (state->argc - state->next);
		return 0;
	}
	if (key == ARGP_KEY_INIT)
		for (unsigned i = 0; i < count; i++)
			if (command->options[i].initial != NULL)
				set_value(state, &command->options[i], command->options[i].initial,
						  parse->values);
	if (key == ARGP_KEY_END && command->check != NULL &&
		!command->check(parse->values, message))
		argp_error(state, "%s", message);
	return parse_common(key, value, state, parse);
}

/* An option's text with its range and its default. */
static char *
describe(const struct option_spec *option)
{
	const char *initial = option->initial_text != NULL ? option->initial_text :
		option->bare != NULL ? option->bare : option->initial;
	char		range[64] = "";
	char	   *text;

	if (option->type == OPTION_INTEGER || option->type == OPTION_DECIMAL)
		snprintf(range, sizeof(range), ", %.15g to %.15g", option->minimum, option->maximum);
	if (asprintf(&text, initial != NULL ? "%s%s (default: %s)" : "%s%s", option->text, range,
				 initial) < 0)
		return NULL;
	return text;
}

/*
 * Parse a command line: each value goes to its member of "values".  pgdata is NULL for
 * a command that needs no data directory.  Returns 0, or
 * -ENOMEM; wrong usage does not return.
 */
int
options__parse(const struct options_command *command, int argc, char **argv,
			   const char **pgdata, void *values)
{
	static const struct argp_option common[] = {
		{"pgdata", 'D', "DIRECTORY", 0, "data directory of the server (default: $PGDATA)", 0},
		{"verbose", 'v', NULL, 0, "log more", 0},
	};
	struct parse parse = {.command = command,.pgdata = pgdata,.values = values};
	struct argp parser = {.parser = parse_option,.args_doc = command->words,.doc = command->doc};
	struct argp_option *options;
	unsigned	count = 0;
	unsigned	at = 0;
	int			err = 0;

	while (command->options[count].name != NULL)
		count++;
	options = calloc(count + 3, sizeof(*options));
	if (options == NULL)
		return -ENOMEM;
	if (pgdata != NULL)
		options[at++] = common[0];
	for (unsigned i = 0; i < count && err == 0; i++)
	{
		const struct option_spec *option = &command->options[i];

		options[at] = (struct argp_option)
		{
			.name = option->name,.key = FIRST_KEY + (int) i,.arg = option->argument,
				.flags = option->bare != NULL ? OPTION_ARG_OPTIONAL : 0,.doc = describe(option)
		};
		if (options[at++].doc == NULL)
			err = -ENOMEM;
	}
	options[at] = common[1];
	parser.options = options;
	if (err == 0)
		err = -argp_parse(&parser, argc, argv, 0, NULL, &parse);
	for (unsigned i = 0; i < at; i++)
		if (options[i].key >= FIRST_KEY)
			free((char *) options[i].doc);
	free(options);
	return err;
}
