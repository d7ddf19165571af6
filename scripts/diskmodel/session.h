/*
 * session.h
 *		Mounts the file system of the modelled disks and serves it.
 */
#ifndef DISKMODEL_SESSION_H
#define DISKMODEL_SESSION_H

#include "array.h"

int			session__serve(struct array *array, const struct array_settings *settings,
						   const char *mount_point);

#endif							/* DISKMODEL_SESSION_H */
