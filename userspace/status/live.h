/*
 * live.h
 *		Shows the status all the time.
 */
#ifndef REDOAHEAD_STATUS_LIVE_H
#define REDOAHEAD_STATUS_LIVE_H

int			live__run(const char *socket, double interval);

#endif							/* REDOAHEAD_STATUS_LIVE_H */
