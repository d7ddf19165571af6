/*
 * front.h
 *		The file system through which the modelled disks are used.
 */
#ifndef DISKMODEL_FRONT_H
#define DISKMODEL_FRONT_H

#include "array.h"

struct fuse_lowlevel_ops;

const struct fuse_lowlevel_ops *front__begin(struct array *array,
											 const struct array_settings *settings);
void		front__end(void);

#endif							/* DISKMODEL_FRONT_H */
