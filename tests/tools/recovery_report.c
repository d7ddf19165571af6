/*
 * recovery_report.c
 *		Makes the report of a status document, without a daemon: the page, or, in a
 *		directory, the file, whose path is printed.
 *
 * Each further argument "SPC/DB/REL/FORK/BLOCKS" is a relation; "slru/NUMBER/BLOCKS" an SLRU.
 *
 * usage: recovery_report DIRECTORY|- [RELATION...] < DOCUMENT
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/html.h"

static struct relations relations;

/* Count a relation; false if the argument is none. */
static bool
add(const char *argument)
{
	struct relpath_key key = {.kind = REDOAHEAD_KIND_RELATION};
	unsigned	fork;
	unsigned	blocks;

	if (sscanf(argument, "slru/%u/%u", &key.rel, &blocks) == 2)
		key.kind = REDOAHEAD_KIND_SLRU;
	else if (sscanf(argument, "%u/%u/%u/%u/%u", &key.spc, &key.db, &key.rel, &fork, &blocks) == 5)
		key.fork = (uint8_t) fork;
	else
		return false;
	relations__add(&relations, &key, blocks);
	return true;
}

int
main(int argc, char **argv)
{
	struct json_object *document = json_object_from_fd(STDIN_FILENO);
	char		path[PATH_MAX];
	int			err;

	if (argc < 2 || document == NULL)
	{
		fprintf(stderr, "recovery_report: %s\n", argc < 2 ? "no directory" : json_util_get_last_err());
		return EXIT_FAILURE;
	}
	for (int i = 2; i < argc; i++)
		if (!add(argv[i]))
		{
			fprintf(stderr, "recovery_report: no relation: %s\n", argv[i]);
			return EXIT_FAILURE;
		}
	if (strcmp(argv[1], "-") == 0)
		err = html__write(stdout, document, &relations);
	else
		err = html__write_file(argv[1], document, &relations, path, sizeof(path));
	json_object_put(document);
	if (err < 0)
	{
		fprintf(stderr, "recovery_report: %s\n", strerror(-err));
		return EXIT_FAILURE;
	}
	if (strcmp(argv[1], "-") != 0)
		puts(path);
	return EXIT_SUCCESS;
}
