/*
 * front.h
 *		The file system through which the modelled disks are used.
 */
#ifndef DISKMODEL_FRONT_H
#define DISKMODEL_FRONT_H

#include "array.h"

int			front__serve(struct array *array, const struct array_settings *settings,
						 const char *mount_point);

#endif							/* DISKMODEL_FRONT_H */
