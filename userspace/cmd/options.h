/*
 * options.h
 *		What the subcommands share of their command lines and signals.
 */
#ifndef REDOAHEAD_CMD_OPTIONS_H
#define REDOAHEAD_CMD_OPTIONS_H

#include <argp.h>
#include <stdint.h>

uint64_t	options__number(struct argp_state *state, const char *name, const char *text,
							uint64_t min, uint64_t max);
error_t		options__common(int key, char *value, struct argp_state *state,
							const char **pgdata);
int			options__signals(void);

#endif							/* REDOAHEAD_CMD_OPTIONS_H */
