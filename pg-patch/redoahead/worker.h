/*
 * worker.h
 *		Starts a background worker of this library.
 */
#ifndef REDOAHEAD_WORKER_H
#define REDOAHEAD_WORKER_H

bool		worker__start(const char *name, const char *function);

#endif							/* REDOAHEAD_WORKER_H */
