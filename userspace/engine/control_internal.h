/*
 * control_internal.h
 *		What the parts of the controller have in common.
 */
#ifndef REDOAHEAD_ENGINE_CONTROL_INTERNAL_H
#define REDOAHEAD_ENGINE_CONTROL_INTERNAL_H

#include "engine/control.h"

/* Redo waits if it stands still for more than so much of the time, percent. */
#define CONTROL_WAITS_PERCENT	10

/* control.c */
void		control__record(struct control *control, enum control_reason reason, unsigned from,
							unsigned to);

/* control_depth.c */
void		control_depth__init(struct control *control);
void		control_depth__begin(struct control *control);
void		control_depth__restart(struct control *control, uint64_t skip);
unsigned	control_depth__max(const struct control *control);
unsigned	control_depth__first(const struct control *control);

#endif							/* REDOAHEAD_ENGINE_CONTROL_INTERNAL_H */
