/*
 * messages.h
 *		What libbpf reports, in our log.
 */
#ifndef REDOAHEAD_PROBE_MESSAGES_H
#define REDOAHEAD_PROBE_MESSAGES_H

void		messages__to_log(void);

#endif							/* REDOAHEAD_PROBE_MESSAGES_H */
