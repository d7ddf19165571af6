/*
 * references.h
 *		What the server asks the daemon for, read along.
 */
#ifndef REDOAHEAD_TRACE_REFERENCES_H
#define REDOAHEAD_TRACE_REFERENCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/redoahead_abi.h"

/* Told of each reference. */
typedef void (*references_handler) (void *context, const struct redoahead_ref *ref);

struct references
{
	const struct redoahead_ring *ring;	/* mapped for reading, NULL: none */
	uint64_t	bytes;			/* size of the mapping */
	ino_t		inode;			/* of the memory, to know it again */
	uint64_t	capacity;		/* references that it holds */
	const struct redoahead_ref *slots;	/* them */
	uint64_t	next;			/* index of the next one to read */
	uint64_t	known_lsn;		/* all references of records from here on are known */
	bool		overrun;		/* known_lsn is that of the next one to be read */
	uint64_t	lost;			/* overwritten before they were read */
	uint64_t	failed;			/* blocks that the daemon had failed to read when asked last */
};

int			references__look(struct references *references, const pid_t *daemons,
							 unsigned count);
bool		references__take(struct references *references, references_handler handler,
							 void *context);
uint64_t	references__replay_lsn(const struct references *references);
uint64_t	references__take_failed(struct references *references);
void		references__close(struct references *references);

#endif							/* REDOAHEAD_TRACE_REFERENCES_H */
