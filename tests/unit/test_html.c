/*
 * test_html.c
 *		The report's text: numbers with their units, times, and what is escaped.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/html.h"
#include "report/html_internal.h"
#include "unit.h"

/* Lost otherwise: figures that are wrong by a unit, or that nobody can read. */
TEST(numbers_have_units)
{
	static const struct
	{
		double		value;
		enum html_unit unit;
		const char *text;
	}			cases[] = {
		{0, HTML_COUNT, "0"},
		{-5, HTML_COUNT, "-5"},
		{999, HTML_COUNT, "999"},
		{1000, HTML_COUNT, "1\xe2\x80\xaf" "000"},
		{1234567.4, HTML_COUNT, "1\xe2\x80\xaf" "234\xe2\x80\xaf" "567"},
		{999999999999999.0, HTML_COUNT, "999\xe2\x80\xaf" "999\xe2\x80\xaf" "999\xe2\x80\xaf" "999\xe2\x80\xaf" "999"},
		{1e308, HTML_COUNT, "1e+308"},
		{2.7134, HTML_RATIO, "2.71"},
		{0, HTML_BYTES, "0 B"},
		{999, HTML_BYTES, "999 B"},
		{1000, HTML_BYTES, "1.00 kB"},
		{16777216, HTML_BYTES, "16.8 MB"},
		{42949672960.0, HTML_BYTES, "42.9 GB"},
		{1e300, HTML_BYTES, "1e+288 TB"},
		{1048576, HTML_RATE, "1.05 MB/s"},
		{0, HTML_SECONDS, "0 s"},
		{0.0004, HTML_SECONDS, "0.40 ms"},
		{0.25, HTML_SECONDS, "250 ms"},
		{59.94, HTML_SECONDS, "59.9 s"},
		{100, HTML_SECONDS, "1 min 40 s"},
		{3599.9, HTML_SECONDS, "59 min 59 s"},
		{3660, HTML_SECONDS, "1 h 01 min"},
		{820800, HTML_SECONDS, "9 d 12 h"},
		{1e300, HTML_SECONDS, "1e+300 s"},
		{-1, HTML_SECONDS, "-1.00 s"},
		{0, HTML_SHARE, "0 %"},
		{0.993, HTML_SHARE, "99.3 %"},
		{0.99999, HTML_SHARE, "99.9 %"},
		{1, HTML_SHARE, "100 %"},
		{1e300, HTML_SHARE, "1e+302 %"},
		{NAN, HTML_SHARE, "\xe2\x80\x93"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char		text[HTML_NUMBER_BYTES];

		html_text__format(text, cases[i].value, cases[i].unit);
		assert_string_equal(text, cases[i].text);
	}
}

/* Lost otherwise: a report whose text is markup, or is no UTF-8 and shown as something else. */
TEST(text_is_escaped)
{
	static const struct
	{
		const char *from;
		const char *to;
	}			cases[] = {
		{NULL, "\xe2\x80\x93"},
		{"<a b=\"c\" d='e'>&amp;", "&#60;a b=&#34;c&#34; d=&#39;e&#39;&#62;&#38;amp;"},
		{"\x01\x1f\x7f", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc2\x9f\xc2\xa0", "\xef\xbf\xbd\xc2\xa0"},
		{"\xe2\x80\xae\xe2\x81\xa6", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x82\xac\xf0\x9f\x90\x98", "\xe2\x82\xac\xf0\x9f\x90\x98"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char		text[128] = "";
		FILE	   *file = fmemopen(text, sizeof(text), "w");

		assert_non_null(file);
		html_text__write(file, cases[i].from);
		fclose(file);
		assert_string_equal(text, cases[i].to);
	}
}

/* Lost otherwise: reports of another time than the server's log has. */
TEST(times_are_local)
{
	char		text[HTML_NUMBER_BYTES];

	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	html_text__time(text, 1764061200.9, "%Y-%m-%d %H:%M:%S %z");
	assert_string_equal(text, "2025-11-25 14:30:00 +0530");
	setenv("TZ", "UTC", 1);
	tzset();
	html_text__time(text, NAN, "%Y");
	assert_string_equal(text, "\xe2\x80\x93");
	html_text__time(text, 1e18, "%Y");
	assert_string_equal(text, "\xe2\x80\x93");
	html_text__time(text, -1, "%Y");
	assert_string_equal(text, "\xe2\x80\x93");
}

/* The report of the last recovery, and of the present one if there was none. */
TEST(the_last_recovery_is_reported)
{
	struct json_object *document = json_tokener_parse("{\"last_recovery\": {\"replay_lsn\": \"0/1\"},"
													  " \"recovery\": {\"replay_lsn\": \"0/2\"}}");
	struct json_object *recovery = html_text__recovery(document);

	assert_string_equal(html_text__string(recovery, "replay_lsn"), "0/1");
	json_object_object_add(document, "last_recovery", NULL);
	recovery = html_text__recovery(document);
	assert_string_equal(html_text__string(recovery, "replay_lsn"), "0/2");
	json_object_object_del(document, "recovery");
	assert_null(html_text__recovery(document));
	assert_null(html_text__recovery(NULL));
	json_object_put(document);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
