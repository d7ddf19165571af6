/*
 * check.h
 *		`redoahead check`: can this machine and this server use redoahead?
 */
#ifndef REDOAHEAD_CHECK_CHECK_H
#define REDOAHEAD_CHECK_CHECK_H

#include <stdbool.h>

struct check_options
{
	const char *pgdata;			/* data directory */
	const char *bindir;			/* where the server's programs are, NULL: find it */
	const char *config_file;	/* the server's postgresql.conf, NULL: find it */
	bool		json;			/* print JSON */
};

int			check__run(const struct check_options *options, bool *problems);

#endif							/* REDOAHEAD_CHECK_CHECK_H */
