/*
 * unit.h
 *		cmocka, the headers that it needs before it, and a list of tests, which
 *		each enters where it is defined.
 */
#ifndef REDOAHEAD_TESTS_UNIT_H
#define REDOAHEAD_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define UNIT_MAX_TESTS	32

/* All tests of a program, in the order of their definitions. */
static struct CMUnitTest unit_tests[UNIT_MAX_TESTS] __attribute__((unused));
static size_t unit_test_count __attribute__((unused));

/* Define a test and enter it into the list. */
#define TEST(name) \
	static void name(void **state); \
	static void __attribute__((constructor)) \
	enter_##name(void) \
	{ \
		if (unit_test_count == UNIT_MAX_TESTS) \
			abort(); \
		unit_tests[unit_test_count++] = (struct CMUnitTest) cmocka_unit_test(name); \
	} \
	static void name(void **state __attribute__((unused)))

/*
 * Define main(), which runs all tests: each between setup and teardown, and all
 * between group_setup and group_teardown.  Any of them may be NULL.
 */
#define UNIT_MAIN(group_setup, group_teardown, setup, teardown) \
	int \
	main(void) \
	{ \
		for (size_t i = 0; i < unit_test_count; i++) \
		{ \
			unit_tests[i].setup_func = setup; \
			unit_tests[i].teardown_func = teardown; \
		} \
		cmocka_set_message_output(CM_OUTPUT_TAP); \
		return _cmocka_run_group_tests("tests", unit_tests, unit_test_count, \
									   group_setup, group_teardown); \
	}

#endif							/* REDOAHEAD_TESTS_UNIT_H */
