/*
 * fuzz_status.c
 *		A status document that may hold anything: its values, the line, the view, the
 *		answer to a probe, the metrics.
 *
 * Each input is a document; its length chooses the size of the terminal.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/prometheus.h"
#include "status/liveness.h"
#include "status/text.h"
#include "status/view.h"

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Everything that is written to a terminal is printable. */
static void
check_text(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char) *text < ' ' || *text == 0x7f)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct values document;
	static struct view view;
	static FILE *null;
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *json = json_tokener_parse_ex(tokener, (const char *) data, (int) size);
	char		message[256];
	char		line[TEXT_LINE_BYTES];
	char		reason[LIVENESS_REASON_BYTES];

	json_tokener_free(tokener);
	if (null == NULL)
		null = fopen("/dev/null", "w");
	if (json != NULL && values__parse(&document, json, message, sizeof(message)) == 0)
	{
		text__line(line, &document);
		check_text(line);
		(void) liveness__of_document(&document, 60, reason);
		check_text(reason);
		view.width = (int) (size % 211);
		view.height = (int) (size % 31);
		view.utf8 = size % 2 == 0;
		view__lay_out(&view, &document, "");
		for (int i = 0; i < view.count; i++)
			check_text(view.rows[i].text);
		(void) prometheus__write(null, json);
	}
	json_object_put(json);
	return 0;
}
