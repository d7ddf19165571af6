/*
 * verify.h
 *		Is a segment without its images, and an archived file, what it should be?
 */
#ifndef REDOAHEAD_LESSLOG_VERIFY_H
#define REDOAHEAD_LESSLOG_VERIFY_H

#include "lesslog/compress.h"
#include "lesslog/content.h"
#include "lesslog/segment.h"

int			verify__same(const struct content *content, int fd, enum compress_method method,
						 char message[WAL_MESSAGE_BYTES]);
int			verify__segment(const struct content *content, const struct segment *segment,
							char message[WAL_MESSAGE_BYTES]);

#endif							/* REDOAHEAD_LESSLOG_VERIFY_H */
