/*
 * version.h
 *		The program's version.
 */
#ifndef REDOAHEAD_BASE_VERSION_H
#define REDOAHEAD_BASE_VERSION_H

#define REDOAHEAD_VERSION	"0.1"

#endif							/* REDOAHEAD_BASE_VERSION_H */
