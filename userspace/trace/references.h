/*
 * references.h
 *		The references that the server gives the daemon.
 */
#ifndef REDOAHEAD_TRACE_REFERENCES_H
#define REDOAHEAD_TRACE_REFERENCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/redoahead_abi.h"

/* Takes a reference. */
typedef void (*references_handler) (void *context, const struct redoahead_ref *ref);

struct references
{
	const struct redoahead_ring *ring;	/* mapped for reading, NULL: none */
	uint64_t	bytes;			/* size of the mapping */
	ino_t		inode;			/* of the memory, which identifies it */
	uint64_t	capacity;		/* references that it holds */
	const struct redoahead_ref *slots;	/* the references */
	uint64_t	next;			/* index of the next one to read */
	uint64_t	known_lsn;		/* all references of records from this LSN on are known */
	bool		overrun;		/* some were lost: known_lsn is to be set from the next one */
	uint64_t	lost;			/* overwritten before they were read */
};

int			references__find(struct references *references, const pid_t *daemons,
							 unsigned count);
bool		references__consume(struct references *references, references_handler handler,
								void *context);
uint64_t	references__replay_lsn(const struct references *references);
void		references__close(struct references *references);

#endif							/* REDOAHEAD_TRACE_REFERENCES_H */
