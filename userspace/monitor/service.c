/*
 * service.c
 *		Reports the status in a line to the service manager: what `redoahead status` prints
 *		is in `systemctl status`, too.
 */
#include "base/notify.h"
#include "monitor/service.h"
#include "status/text.h"

/* Report a status document.  Returns true if there is no recovery in it. */
bool
service__report(struct json_object *document)
{
	static struct values values;	/* large; there is one thread that monitors */
	char		line[TEXT_LINE_BYTES];
	char		message[VALUES_TEXT_BYTES];

	if (values__parse(&values, document, message, sizeof(message)) < 0)
		return true;
	text__line(line, &values);
	notify__status("%s", line);
	return values.phase == VALUES_WAITING;
}
