/*
 * fuzz_report.c
 *		Fuzzes the report: any JSON becomes a page without scripts, of which each tag is ours.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longest page of 240 samples, bytes, and what each byte of the document may become at most. */
#define PAGE_BYTES	400000
#define BYTE_BYTES	32

static const struct relations relations = {
	.total = 10,.counts[3] = {.spc = 1663,.db = 5,.rel = 16384,.blocks = 10,.excess = 3}
};

static void
check(int holds)
{
	if (!holds)
		abort();
}

/* Is the text at the beginning of one of our tags? */
static int
is_tag(const char *text)
{
	static const char *const tags[] = {
		"!DOCTYPE html", "b", "bdi", "body", "code", "dd", "details", "div", "dl", "dt", "figcaption",
		"figure", "h1", "h2", "h3", "head", "header", "html", "i", "main", "meta", "p", "path", "rect",
		"section", "span", "style", "summary", "svg", "table", "tbody", "td", "th", "thead", "title", "tr"
	};

	text += *text == '/';
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
	{
		size_t		length = strlen(tags[i]);

		if (strncmp(text, tags[i], length) == 0 && strchr(" >/", text[length]) != NULL)
			return 1;
	}
	return 0;
}

static void
check_page(const char *page, size_t bytes, size_t document_bytes)
{
	check(strlen(page) == bytes);
	check(bytes < PAGE_BYTES + BYTE_BYTES * document_bytes);
	for (const char *at = page; *at != '\0'; at++)
		check((unsigned char) *at >= ' ' || *at == '\n');
	for (const char *at = page; (at = strchr(at, '<')) != NULL; at++)
		check(is_tag(at + 1));
	/* Paths have numbers only. */
	for (const char *at = page; (at = strstr(at, " d=\"")) != NULL; at++)
		check(at[4 + strspn(at + 4, "MLHVZh0123456789. ")] == '"');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *document = json_tokener_parse_ex(tokener, (const char *) data, (int) size);
	char	   *page = NULL;
	size_t		bytes = 0;
	FILE	   *file = open_memstream(&page, &bytes);
	int			err;

	check(file != NULL);
	err = html__write(file, document, &relations);
	check(fclose(file) == 0);
	check(err == 0 || (err == -EINVAL && bytes == 0));
	if (err == 0)
		check_page(page, bytes, size);
	free(page);
	json_object_put(document);
	json_tokener_free(tokener);
	return 0;
}
