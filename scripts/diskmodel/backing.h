/*
 * backing.h
 *		The files that hold what the modelled disks contain.
 */
#ifndef DISKMODEL_BACKING_H
#define DISKMODEL_BACKING_H

#include <stdbool.h>
#include <stdint.h>

struct backing;

int			backing__open(struct backing **backing, const char *directory, unsigned disks,
						  uint64_t bytes);
void		backing__close(struct backing *backing);
int			backing__poll_fd(const struct backing *backing);
void		backing__start(struct backing *backing, unsigned disk, bool write, void *buffer,
						   uint32_t length, uint64_t offset, void *token);
void		backing__submit(struct backing *backing);
bool		backing__reap(struct backing *backing, void **token, int *result);

#endif							/* DISKMODEL_BACKING_H */
