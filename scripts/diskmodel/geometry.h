/*
 * geometry.h
 *		Where things are on a spindle, and how long the arm takes to get there.
 */
#ifndef DISKMODEL_GEOMETRY_H
#define DISKMODEL_GEOMETRY_H

#include <stdint.h>

/* Fixed once it is made. */
struct geometry
{
	double		revolution;		/* of the platter, ns */
	double		media_rate;		/* on one track, bytes per ns */
	double		stream_rate;	/* over many tracks, bytes per ns */
	double		track_bytes;	/* bytes */
	double		tracks;			/* number of tracks, not always whole */
	double		skew;			/* start of a track behind the end of the last, revolutions */
	double		phase;			/* of the platter at time 0, revolutions */
	double		seek_settle;	/* constant part of a seek, ns */
	double		seek_root;		/* part that grows with the root of the distance, ns */
	double		seek_linear;	/* part that grows with the distance, ns */
};

void		geometry__init(struct geometry *geometry, uint64_t bytes, double phase);
uint64_t	geometry__track(const struct geometry *geometry, uint64_t offset);
double		geometry__seek(const struct geometry *geometry, uint64_t from, uint64_t to);
double		geometry__access(const struct geometry *geometry, uint64_t track,
							 uint64_t offset, uint64_t time, double *seek);
double		geometry__transfer(const struct geometry *geometry, uint64_t offset,
							   uint32_t length);

#endif							/* DISKMODEL_GEOMETRY_H */
