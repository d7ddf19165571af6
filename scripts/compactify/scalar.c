/*
 * scalar.c
 *		compactify_impl.h in plain C, which no server on this CPU would use.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "storage/compactify.h"

#define COMPACTIFY_SCALAR
#define COMPACTIFY_SUFFIX _scalar
#include "storage/page/compactify_impl.h"
