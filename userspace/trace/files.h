/*
 * files.h
 *		The files that were met, and what they hold.
 */
#ifndef REDOAHEAD_TRACE_FILES_H
#define REDOAHEAD_TRACE_FILES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/trace.h"
#include "cluster/relpath.h"

/* No such file, or none that redo reads blocks from. */
#define FILES_NONE		UINT32_MAX

struct files;

int			files__create(struct files **files, const char *pgdata);
void		files__destroy(struct files *files);
int			files__met(struct files *files, const struct trace_file *event);
uint32_t	files__of_number(const struct files *files, uint32_t number);
uint32_t	files__of_key(struct files *files, const struct relpath_key *key);
const struct relpath_key *files__key(const struct files *files, uint32_t file);
uint32_t	files__row(const struct files *files, uint32_t file);
bool		files__was_read(struct files *files, uint32_t file, uint32_t block);
uint32_t	files__rows(const struct files *files);
const struct relpath_key *files__row_key(const struct files *files, uint32_t row);
void		files__row_path(const struct files *files, uint32_t row, char path[RELPATH_BYTES]);

#endif							/* REDOAHEAD_TRACE_FILES_H */
