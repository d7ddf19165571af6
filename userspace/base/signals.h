/*
 * signals.h
 *		Signals as a descriptor, and those that must do no harm.
 */
#ifndef REDOAHEAD_BASE_SIGNALS_H
#define REDOAHEAD_BASE_SIGNALS_H

void		signals__protect(void);
int			signals__open(void);
int			signals__take(int fd);

#endif							/* REDOAHEAD_BASE_SIGNALS_H */
