/*
 * notify.h
 *		Reports the state of the program to the service manager.
 */
#ifndef REDOAHEAD_BASE_NOTIFY_H
#define REDOAHEAD_BASE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

bool		notify__is_used(void);
void		notify__ready(const char *status);
void		notify__status(const char *format,...) __attribute__((format(printf, 1, 2)));
void		notify__alive(uint64_t now_us);
void		notify__reloading(void);
void		notify__reloaded(void);
void		notify__stopping(void);

#endif							/* REDOAHEAD_BASE_NOTIFY_H */
