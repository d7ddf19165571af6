/*
 * config_line.c
 *		Takes a line of a configuration file apart, by the rules of PostgreSQL's scanner.
 *
 * A value without quotes is an integer that may have a unit, a number with a point, or a
 * word.  What the server refuses is refused here, too: its next start would fail.
 */
#include <ctype.h>
#include <string.h>

#include "cluster/config.h"

static bool
is_letter(char c)
{
	return isalpha((unsigned char) c) || c == '_' || (unsigned char) c >= 0x80;
}

static bool
is_letter_or_digit(char c)
{
	return is_letter(c) || isdigit((unsigned char) c);
}

/* Length of a name at the beginning of a text, 0: there is none. */
static size_t
name_length(const char *text)
{
	size_t		length = 0;

	if (is_letter(text[0]))
		while (is_letter_or_digit(text[length]))
			length++;
	return length;
}

/* Likewise of a name in two parts, as extensions have them. */
static size_t
qualified_length(const char *text)
{
	size_t		first = name_length(text);
	size_t		second = first > 0 && text[first] == '.' ? name_length(text + first + 1) : 0;

	return second > 0 ? first + 1 + second : 0;
}

/* Likewise of a word without quotes. */
static size_t
word_length(const char *text)
{
	size_t		length = 0;

	if (is_letter(text[0]))
		while (is_letter_or_digit(text[length]) ||
			   (text[length] != '\0' && strchr("-._:/", text[length]) != NULL))
			length++;
	return length;
}

/* Likewise of an integer with its unit. */
static size_t
integer_length(const char *text)
{
	size_t		length = text[0] == '-' || text[0] == '+';
	size_t		begin = length;

	if (text[length] == '0' && text[length + 1] == 'x' && isxdigit((unsigned char) text[length + 2]))
		for (length += 2; isxdigit((unsigned char) text[length]);)
			length++;
	else
		while (isdigit((unsigned char) text[length]))
			length++;
	if (length == begin)
		return 0;
	while (isalpha((unsigned char) text[length]))
		length++;
	return length;
}

/* Likewise of a number with a point, which may have an exponent and no unit. */
static size_t
real_length(const char *text)
{
	size_t		length = text[0] == '-' || text[0] == '+';
	size_t		exponent;

	while (isdigit((unsigned char) text[length]))
		length++;
	if (text[length] != '.')
		return 0;
	length++;
	while (isdigit((unsigned char) text[length]))
		length++;
	if (text[length] != 'e' && text[length] != 'E')
		return length;
	exponent = length + 1;
	if (text[exponent] == '-' || text[exponent] == '+')
		exponent++;
	if (!isdigit((unsigned char) text[exponent]))
		return length;
	while (isdigit((unsigned char) text[exponent]))
		exponent++;
	return exponent;
}

/* Likewise of a text in quotes, with them. */
static size_t
quoted_length(const char *text)
{
	size_t		length = 1;

	if (text[0] != '\'')
		return 0;
	for (; text[length] != '\0'; length++)
	{
		if (text[length] == '\\' && text[length + 1] != '\0')
			length++;
		else if (text[length] == '\'' && text[length + 1] == '\'')
			length++;
		else if (text[length] == '\'')
			return length + 1;
	}
	return 0;
}

/* Length of the longest value at the beginning of a text, 0: there is none. */
static size_t
value_length(const char *text)
{
	size_t		integer = integer_length(text);
	size_t		real = real_length(text);
	size_t		word = word_length(text);

	if (text[0] == '\'')
		return quoted_length(text);
	if (word > 0)
		return word == qualified_length(text) ? 0 : word;
	return integer > real ? integer : real;
}

/* One character behind a backslash; advances the text behind it. */
static char
unescape(const char **text)
{
	static const char letters[] = "bfnrt";
	static const char meanings[] = "\b\f\n\r\t";
	const char *found;
	int			code = 0;
	int			digits = 0;

	while (digits < 3 && (*text)[digits] >= '0' && (*text)[digits] <= '7')
		code = code * 8 + ((*text)[digits++] - '0');
	if (digits > 0)
	{
		*text += digits;
		return (char) code;
	}
	found = strchr(letters, **text);
	return *(*text)++ != '\0' && found != NULL ? meanings[found - letters] : (*text)[-1];
}

/* Remove the quotes in place; returns the text, which begins behind the first quote. */
static char *
unquote(char *value, size_t length)
{
	const char *from = value + 1;
	const char *end = value + length - 1;
	char	   *to = value + 1;

	while (from < end)
	{
		char		c = *from++;

		if (c == '\'')
			from++;
		else if (c == '\\')
			c = unescape(&from);
		*to++ = c;
	}
	*to = '\0';
	return value + 1;
}

static char *
skip_blanks(char *text)
{
	return text + strspn(text, " \t\r");
}

/*
 * Take a line without its end apart, in place: the name and the value, without quotes, are
 * parts of it.
 */
enum config_line
config_line__parse(char *line, char **name, char **value)
{
	char	   *at = skip_blanks(line);
	char	   *end;
	size_t		length;

	if (*at == '\0' || *at == '#')
		return CONFIG_LINE_EMPTY;
	length = qualified_length(at);
	if (length == 0)
		length = name_length(at);
	if (length == 0)
		return CONFIG_LINE_WRONG;
	*name = at;
	end = at + length;
	at = skip_blanks(end);
	if (*at == '=')
		at = skip_blanks(at + 1);
	length = value_length(at);
	if (length == 0 || (at == end && *at != '\''))
		return CONFIG_LINE_WRONG;
	*value = at;
	at = skip_blanks(at + length);
	if (*at != '\0' && *at != '#')
		return CONFIG_LINE_WRONG;
	if (**value == '\'')
		*value = unquote(*value, length);
	else
		(*value)[length] = '\0';
	*end = '\0';
	return CONFIG_LINE_SETTING;
}
