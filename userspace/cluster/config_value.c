/*
 * config_value.c
 *		Values of settings: memory with units, flags, lists of libraries.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cluster/config.h"

/* The units of memory, each 1024 times the one before; case matters. */
static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};

/* Memory; "unit" is that of a number without one, bytes.  False: not a valid value. */
bool
config_value__bytes(const char *text, uint64_t unit, uint64_t *bytes)
{
	double		factor = (double) unit;
	double		size = 1;
	double		number;
	char	   *end;

	errno = 0;
	number = (double) strtoll(text, &end, 0);
	if (*end == '.' || *end == 'e' || *end == 'E' || errno == ERANGE)
	{
		errno = 0;
		number = strtod(text, &end);
	}
	if (end == text || errno != 0 || !(number >= 0))
		return false;
	while (isspace((unsigned char) *end))
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++, size *= 1024)
	{
		size_t		length = strlen(units[i]);

		if (strncmp(end, units[i], length) != 0)
			continue;
		factor = size;
		end += length;
		break;
	}
	while (isspace((unsigned char) *end))
		end++;
	number *= factor;
	if (*end != '\0' || number >= (double) INT64_MAX)
		return false;
	*bytes = (uint64_t) (number + 0.5);
	return true;
}

/* A flag, whose words may be cut short.  False: not a valid value. */
bool
config_value__flag(const char *text, bool *flag)
{
	static const struct
	{
		const char *word;		/* the whole one */
		size_t		least;		/* letters that must be there */
		bool		flag;		/* what it means */
	}			words[] = {
		{"true", 1, true}, {"yes", 1, true}, {"on", 2, true}, {"1", 1, true},
		{"false", 1, false}, {"no", 1, false}, {"off", 2, false}, {"0", 1, false},
	};
	size_t		length = strlen(text);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (length >= words[i].least && strncasecmp(text, words[i].word, length) == 0)
		{
			*flag = words[i].flag;
			return true;
		}
	return false;
}

/* Does a list as in shared_preload_libraries name the library, with or without a directory? */
bool
config_value__lists(const char *list, const char *library)
{
	size_t		length = strlen(library);

	for (;;)
	{
		const char *end;
		const char *name;

		list += strspn(list, " \t\n\r\",");
		end = list + strcspn(list, "\",");
		if (end == list)
			return false;
		for (name = end; name > list && name[-1] != '/';)
			name--;
		if (strncmp(name, library, length) == 0 &&
			(strcspn(name + length, " \t\n\r\",") == 0 || strncmp(name + length, ".so", 3) == 0))
			return true;
		list = end;
	}
}
