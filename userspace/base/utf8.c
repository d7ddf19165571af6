/*
 * utf8.c
 *		Which bytes of a text are UTF-8: names of files and relations may be anything.
 */
#include <string.h>

#include "base/utf8.h"

/* Length of the UTF-8 sequence that the text begins with, bytes; 0 if there is none. */
unsigned
utf8__length(const unsigned char *text)
{
	/* Least and greatest second byte: no overlong forms, surrogates or numbers too great. */
	unsigned char least = text[0] == 0xe0 ? 0xa0 : text[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char most = text[0] == 0xed ? 0x9f : text[0] == 0xf4 ? 0x8f : 0xbf;
	unsigned	length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 :
		text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;

	if (length > 1 && (text[1] < least || text[1] > most))
		return 0;
	for (unsigned i = 2; i < length; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return length;
}

/*
 * What a text that is not at its end begins with, for a reader that takes nothing but UTF-8: a
 * byte that is none is U+FFFD.  Moves the text behind it; *length is that of the result, bytes.
 */
const char *
utf8__next(const char **text, unsigned *length)
{
	const char *at = *text;

	*length = utf8__length((const unsigned char *) at);
	*text += *length > 0 ? *length : 1;
	if (*length > 0)
		return at;
	*length = sizeof(UTF8_REPLACEMENT) - 1;
	return UTF8_REPLACEMENT;
}

/*
 * Does a text begin with a control character, which a terminal may obey?  Also of UTF-8: those
 * of ISO 8859 are two bytes there.
 */
bool
utf8__is_control(const char *text)
{
	const unsigned char *at = (const unsigned char *) text;

	return at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0);
}

/* Make each control character in a text '?'. */
void
utf8__hide_controls(char *text)
{
	for (; *text != '\0'; text++)
		if (utf8__is_control(text))
		{
			if (*text == '\xc2')
				memmove(text, text + 1, strlen(text));
			*text = '?';
		}
}
