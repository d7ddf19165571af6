/*
 * test_utf8.c
 *		Can names make a terminal do something?
 */
#include <string.h>

#include "unit.h"

#include "base/utf8.h"

static void
expect_shown(const char *text, const char *shown)
{
	char		copy[100];

	strcpy(copy, text);
	utf8__hide_controls(copy);
	assert_string_equal(copy, shown);
}

/* Those of ASCII, DEL, and those of ISO 8859 as UTF-8, with which sequences begin, too. */
TEST(controls_are_hidden)
{
	expect_shown("a\033[31m\n\tb\177", "a?[31m??b?");
	expect_shown("\xc2\x9b" "31m\xc2\x80\xc2\x9f", "?31m??");
	expect_shown("", "");
}

TEST(other_characters_stay)
{
	expect_shown("Tabelle für \xe2\x82\xac", "Tabelle für \xe2\x82\xac");
	expect_shown("\xc2\xa0\xc2\xbf\xc3\x9b", "\xc2\xa0\xc2\xbf\xc3\x9b");
	/* At the end of a text that was cut off. */
	expect_shown("a\xc2", "a\xc2");
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
