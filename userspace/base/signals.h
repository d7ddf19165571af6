/*
 * signals.h
 *		The signals that end the program, as a descriptor.
 */
#ifndef REDOAHEAD_BASE_SIGNALS_H
#define REDOAHEAD_BASE_SIGNALS_H

int			signals__open(void);

#endif							/* REDOAHEAD_BASE_SIGNALS_H */
