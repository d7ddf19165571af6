/*
 * messages.c
 *		What libbpf reports, in our log: details, one line per event.
 */
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "probe/messages.h"

static int
log_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char		line[1024];

	(void) level;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	log_debug("%s", line);
	return 0;
}

/* From now on libbpf's messages go to our log. */
void
messages__to_log(void)
{
	libbpf_set_print(log_libbpf);
}
