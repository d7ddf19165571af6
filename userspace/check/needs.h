/*
 * needs.h
 *		The list of what redoahead needs, and whether it is there.
 */
#ifndef REDOAHEAD_CHECK_NEEDS_H
#define REDOAHEAD_CHECK_NEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <json-c/json.h>

/* How well a need is met. */
enum need_status
{
	NEED_OK,					/* met */
	NEED_WARNING,				/* redoahead works, but less well */
	NEED_PROBLEM,				/* redoahead does not work */
	NEED_STATUS_COUNT
};

struct needs
{
	struct json_object *list;	/* an array; the last object is the newest need */
	unsigned	counts[NEED_STATUS_COUNT];	/* needs by enum need_status */
};

int			needs__create(struct needs *needs);
void		needs__destroy(struct needs *needs);
void		needs__add(struct needs *needs, const char *name, enum need_status status,
					   const char *format,...) __attribute__((format(printf, 4, 5)));
void		needs__remedy(struct needs *needs, const char *format,...)
			__attribute__((format(printf, 2, 3)));
void		needs__number(struct needs *needs, const char *name, uint64_t number);
enum need_status needs__worst(const struct needs *needs);
const char *needs__status_name(enum need_status status);
void		needs__print(const struct needs *needs, FILE *out, unsigned width);

#endif							/* REDOAHEAD_CHECK_NEEDS_H */
