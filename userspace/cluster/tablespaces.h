/*
 * tablespaces.h
 *		The tablespaces of a cluster.
 */
#ifndef REDOAHEAD_CLUSTER_TABLESPACES_H
#define REDOAHEAD_CLUSTER_TABLESPACES_H

#include <limits.h>

int			tablespaces__find_hidden(int dirfd, const char *version_dir, char hidden[NAME_MAX + 1]);

#endif							/* REDOAHEAD_CLUSTER_TABLESPACES_H */
