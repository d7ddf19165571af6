/*
 * html.c
 *		Writes the report of a recovery: one HTML page that needs no other file.
 *
 * The page has no script and loads nothing, which its Content-Security-Policy makes sure
 * of.  All that comes from the document is escaped (html_text.c).
 */
#include <errno.h>

#include "report/html.h"
#include "report/html_internal.h"

/* Write the page.  Returns 0; -EINVAL if the document has no recovery; -EIO. */
int
html__write(FILE *file, struct json_object *document, const struct relations *relations)
{
	struct json_object *recovery = html_text__recovery(document);

	(void) relations;
	if (recovery == NULL)
		return -EINVAL;
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Recovery of ", file);
	html_text__write(file, html_text__string(document, "data_directory"));
	fputs("</title>\n</html>\n", file);
	return ferror(file) ? -EIO : 0;
}
