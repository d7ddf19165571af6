/*
 * status_metrics.c
 *		Prints a status document as metrics for Prometheus, without a daemon; or writes
 *		them to a file, once or more often.
 *
 * usage: status_metrics [FILE [TIMES]] < DOCUMENT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/prometheus.h"

int
main(int argc, char **argv)
{
	struct json_object *document = json_object_from_fd(STDIN_FILENO);
	long		times = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	int			err = 0;

	if (document == NULL)
	{
		fprintf(stderr, "status_metrics: %s", json_util_get_last_err());
		return EXIT_FAILURE;
	}
	if (argc < 2)
		err = prometheus__write(stdout, document);
	else
		while (err == 0 && times-- > 0)
			err = prometheus__write_file(argv[1], document);
	json_object_put(document);
	if (err == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "status_metrics: %s\n", strerror(-err));
	return EXIT_FAILURE;
}
