/*
 * unit.h
 *		cmocka, and the headers that it needs before it.
 */
#ifndef REDOAHEAD_TESTS_UNIT_H
#define REDOAHEAD_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif							/* REDOAHEAD_TESTS_UNIT_H */
