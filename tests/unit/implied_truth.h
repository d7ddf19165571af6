/*
 * implied_truth.h
 *		Where map entries are according to PostgreSQL's own code.
 */
#ifndef IMPLIED_TRUTH_H
#define IMPLIED_TRUTH_H

#include <stdint.h>

/* Visibility map block of a heap block. */
extern uint32_t truth__vm(uint32_t heap_block);

/* Free space map block of a heap block, on a level counted from the leaves. */
extern uint32_t truth__fsm(uint32_t heap_block, int level);

#endif							/* IMPLIED_TRUTH_H */
