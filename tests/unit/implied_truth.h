/*
 * implied_truth.h
 *		Where PostgreSQL's own code has map and SLRU entries are.
 */
#ifndef IMPLIED_TRUTH_H
#define IMPLIED_TRUTH_H

#include <stdint.h>

/* Visibility map block of a heap block. */
extern uint32_t truth__vm(uint32_t heap_block);

/* Free space map block of a heap block, on a level counted from the leaves. */
extern uint32_t truth__fsm(uint32_t heap_block, int level);

/* Pages of a transaction ID. */
extern uint32_t truth__xact(uint32_t xid);
extern uint32_t truth__commit_ts(uint32_t xid);

/* Pages of a multixact ID, and of one of its members. */
extern uint32_t truth__multixact_offset(uint32_t multi);
extern uint32_t truth__multixact_member(uint64_t member);

#endif							/* IMPLIED_TRUTH_H */
