/*
 * startcommand.h
 *		The command that the server was last started with.
 */
#ifndef REDOAHEAD_CLUSTER_STARTCOMMAND_H
#define REDOAHEAD_CLUSTER_STARTCOMMAND_H

#include "cluster/cluster.h"
#include "cluster/config.h"

/* Origin of settings of the command, as in struct config_setting. */
#define STARTCOMMAND_ORIGIN		"postmaster.opts"

struct startcommand
{
	char		program[PATH_MAX];	/* the server's program; empty: not known */
	struct config settings;		/* on the command line */
};

int			startcommand__read(struct startcommand *command, const struct cluster *cluster);
int			startcommand__parse(struct startcommand *command, char *text);
void		startcommand__free(struct startcommand *command);

#endif							/* REDOAHEAD_CLUSTER_STARTCOMMAND_H */
