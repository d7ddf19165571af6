/*
 * settings.h
 *		The settings of the redoahead extension.
 *
 * The variables are written by the server only, through settings.c.
 */
#ifndef REDOAHEAD_SETTINGS_H
#define REDOAHEAD_SETTINGS_H

#include "postgres.h"

extern char *redoahead_socket;	/* path, relative to the data directory; "": off */
extern int	redoahead_lookahead;	/* block references to look ahead */
extern int	redoahead_decode_buffer_size;	/* kB */
extern int	redoahead_prefault; /* MB to allocate ahead of redo; 0: don't */
extern bool redoahead_decoder;	/* decode WAL in another process? */
extern bool redoahead_defer_checkpoint;	/* connections before the checkpoint? */

/* Changes of the settings that a connection to the daemon depends on, times. */
extern uint32 redoahead_connection_changes;

extern void settings__init(void);

#endif							/* REDOAHEAD_SETTINGS_H */
