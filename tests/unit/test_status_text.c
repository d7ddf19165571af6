/*
 * test_status_text.c
 *		Numbers with units, sparklines, and the full-screen view of any size.
 *
 * With a wrong one, people read another time than the daemon estimates, or a narrow
 * terminal shows a mess.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "status/text.h"
#include "status/view.h"

static char text[TEXT_NUMBER_BYTES];

TEST(bytes)
{
	assert_string_equal(text__bytes(text, 0), "0 B");
	assert_string_equal(text__bytes(text, 999), "999 B");
	assert_string_equal(text__bytes(text, 999.9), "1.00 kB");
	assert_string_equal(text__bytes(text, 1600000), "1.60 MB");
	assert_string_equal(text__bytes(text, 99960000), "100 MB");
	assert_string_equal(text__bytes(text, 999.7e6), "1.00 GB");
	assert_string_equal(text__bytes(text, 1.8446744073709552e19), "18447 PB");
	assert_string_equal(text__bytes(text, 1e300), "> 1000000 PB");
	assert_string_equal(text__bytes(text, NAN), "-");
}

TEST(duration)
{
	assert_string_equal(text__duration(text, 0), "0.0 s");
	assert_string_equal(text__duration(text, 9.94), "9.9 s");
	assert_string_equal(text__duration(text, 9.96), "10 s");
	assert_string_equal(text__duration(text, 119.4), "119 s");
	assert_string_equal(text__duration(text, 119.6), "2 min 0 s");
	assert_string_equal(text__duration(text, 3599.6), "1 h 0 min");
	assert_string_equal(text__duration(text, 86399), "23 h 59 min");
	assert_string_equal(text__duration(text, 97200), "1 d 3 h");
	assert_string_equal(text__duration(text, 1e308), "> 9999 d");
	assert_string_equal(text__duration(text, NAN), "-");
}

/* Nothing is complete that is not. */
TEST(share)
{
	assert_string_equal(text__share(text, 0), "0.0 %");
	assert_string_equal(text__share(text, 0.5), "50.0 %");
	assert_string_equal(text__share(text, 0.99999), "99.9 %");
	assert_string_equal(text__share(text, 1), "100.0 %");
	assert_string_equal(text__share(text, NAN), "-");
}

TEST(sparkline)
{
	const double values[] = {0, 1, NAN, 4, 7, 8};
	char		line[64];

	text__sparkline(line, sizeof(line), 6, values, 6, 0, false);
	assert_string_equal(line, "_. =##");
	text__sparkline(line, sizeof(line), 6, values, 6, 0, true);
	assert_string_equal(line, "\u2581\u2582 \u2585\u2588\u2588");
	/* Columns are means of what is known; more columns than values are not used. */
	text__sparkline(line, sizeof(line), 3, values, 6, 0, false);
	assert_string_equal(line, "_=#");
	text__sparkline(line, sizeof(line), 60, values, 2, 0, false);
	assert_string_equal(line, "_#");
	/* Against a maximum that is given. */
	text__sparkline(line, sizeof(line), 6, values, 6, 16, false);
	assert_string_equal(line, "__ ,-=");
	/* Nothing but zeros, nothing at all, no room. */
	text__sparkline(line, sizeof(line), 6, (const double[]) {0, 0}, 2, 0, false);
	assert_string_equal(line, "__");
	text__sparkline(line, sizeof(line), 6, values, 0, 0, false);
	assert_string_equal(line, "");
	text__sparkline(line, TEXT_COLUMN_BYTES, 6, values, 6, 0, true);
	assert_int_equal(strlen(line), 3);
}

/* A document in which everything is known, and as long as it may be. */
static void
make_document(struct values *document)
{
	struct values_recovery *recovery = &document->recovery;

	*document = (struct values) {.phase = VALUES_CHECKPOINT,.server_major = 18,.has_recovery = true};
	memset(document->data_directory, '/', sizeof(document->data_directory) - 1);
	strcpy(document->command, "follow");
	*recovery = (struct values_recovery) {.stalled = 1e9,.rate = 1e12,.left = 1e6,.progress = 1,
		.sample_count = VALUES_MAX_SAMPLES,.replay_lsn = "FFFFFFFF/FFFFFFFF",
		.end_lsn = "FFFFFFFF/FFFFFFFF",.end_source = "received",.limit = "device throughput",
		.primary_lsn = "FFFFFFFF/FFFFFFFF",.in_flight = 4096,.io_depth = 4096};
	for (unsigned i = 0; i < VALUES_MAX_SAMPLES; i++)
		recovery->history[VALUES_RATE][i] = i;
}

/* Columns that a line takes. */
static int
columns_of(const char *line)
{
	int			columns = 0;

	for (; *line != '\0'; line++)
		columns += (*line & 0xc0) != 0x80;
	return columns;
}

TEST(view_of_any_size)
{
	static struct values document;
	static struct view view;

	make_document(&document);
	for (int width = 0; width < 300; width = width < 100 ? width + 1 : width + 50)
		for (int height = 0; height < 60; height++)
		{
			view.width = width;
			view.height = height;
			view.utf8 = height % 2 == 0;
			view__lay_out(&view, width % 2 == 0 ? &document : NULL,
						  "a_word_that_is_longer_than_most_terminals_are_wide and others");
			assert_true(view.count <= height && view.count <= VIEW_MAX_LINES);
			for (int i = 0; i < view.count; i++)
				assert_true(columns_of(view.rows[i].text) <= (width < 1 ? 1 : width));
		}
}

/* 20 columns show what matters most. */
TEST(narrow_view)
{
	static struct values document;
	static struct view view = {.width = 20,.height = 8};

	make_document(&document);
	document.phase = VALUES_CRASH_RECOVERY;
	document.recovery.progress = 0.5;
	document.recovery.left = document.recovery.left_min = document.recovery.left_max = 73;
	view__lay_out(&view, &document, "");
	assert_int_equal(view.count, 8);
	assert_string_equal(view.rows[0].text, "crash recovery");
	assert_string_equal(view.rows[1].text, "time left 73 s (73 s");
	assert_string_equal(view.rows[2].text, "[#####.....] 50.0 %");
	assert_string_equal(view.rows[3].text, "redo FFFFFFFF/FFFFFF");
	view__lay_out(&view, NULL, "no daemon listens there");
	assert_string_equal(view.rows[0].text, "no status");
	assert_string_equal(view.rows[1].text, "no daemon listens");
	assert_string_equal(view.rows[2].text, "there");
	assert_string_equal(view.rows[3].text, "q: quit");
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
