/*
 * messages.c
 *		What libbpf reports, in our log: details, one line per event.
 */
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "probe/messages.h"

static int
log_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char	   *text;
	char	   *rest;
	char	   *line;

	(void) level;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	/* One message may have all of the verifier's log. */
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0')
			log_debug("%s", line);
	free(text);
	return 0;
}

/* From now on libbpf's messages go to our log. */
void
messages__to_log(void)
{
	libbpf_set_print(log_libbpf);
}
