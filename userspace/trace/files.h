/*
 * files.h
 *		The files that were read: which relation's fork or SLRU each belongs to.
 */
#ifndef REDOAHEAD_TRACE_FILES_H
#define REDOAHEAD_TRACE_FILES_H

#include <linux/types.h>
#include <stdint.h>

#include "bpf/trace.h"
#include "cluster/relpath.h"

/* Instead of a row: a WAL segment; a file that redo does not read blocks from. */
#define FILES_WAL		(UINT32_MAX - 1)
#define FILES_NONE		UINT32_MAX

struct files;

/* What a file holds. */
struct files_place
{
	uint32_t	row;			/* of its relation's fork or SLRU, FILES_WAL or FILES_NONE */
	uint32_t	first_block;	/* block of the fork that the file begins with */
};

int			files__create(struct files **files, const char *pgdata, uint32_t segment_blocks);
void		files__destroy(struct files *files);
int			files__add(struct files *files, const struct trace_file *event);
struct files_place files__place(const struct files *files, uint32_t number);
uint32_t	files__row(struct files *files, const struct relpath_key *key);
uint32_t	files__row_count(const struct files *files);
const struct relpath_key *files__row_key(const struct files *files, uint32_t row);
void		files__row_path(const struct files *files, uint32_t row, char path[RELPATH_BYTES]);

#endif							/* REDOAHEAD_TRACE_FILES_H */
