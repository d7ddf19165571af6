/*
 * geometry.c
 *		Where things are on a spindle, and how long the arm takes to get there.
 *
 * The drive is a 7200 rpm one as they were around 2008, which the measurements
 * that we want to repeat were taken on: 165 MB/s on a track, an average seek
 * of 8.5 ms.  Its size is free: seeks depend on the part of the full stroke
 * that they cross, so a disk of a few GB has the access times of a large one.
 * All tracks are equally long; there is one head.
 *
 * Everything here is a pure function of its arguments.
 */
#include <math.h>

#include "geometry.h"
#include "request.h"

#define REVOLUTIONS_PER_MINUTE	7200.0
#define MEDIA_RATE				0.165	/* bytes per ns, so GB/s */
#define SEEK_SETTLE				(0.5 * MILLISECOND)
#define SEEK_AVERAGE			(8.5 * MILLISECOND)
#define SEEK_FULL_STROKE		(16.0 * MILLISECOND)

/* Spare skew, and what counts as being there in time, revolutions. */
#define SKEW_MARGIN				0.005
#define ROTATION_TOLERANCE		0.0005

/*
 * A seek over the part d of the full stroke takes settle + root * sqrt(d) +
 * linear * d.  Between two random places the mean of sqrt(d) is 8/15 and that
 * of d is 1/3, so the average and the longest seek determine root and linear.
 */
void
geometry__init(struct geometry *geometry, uint64_t bytes, double phase)
{
	const double mean_root = 8.0 / 15.0;
	const double mean = 1.0 / 3.0;
	const double longest = SEEK_FULL_STROKE - SEEK_SETTLE;

	geometry->revolution = 60e9 / REVOLUTIONS_PER_MINUTE;
	geometry->media_rate = MEDIA_RATE;
	geometry->track_bytes = MEDIA_RATE * geometry->revolution;
	geometry->tracks = (double) bytes / geometry->track_bytes;
	geometry->phase = phase - floor(phase);

	geometry->seek_settle = SEEK_SETTLE;
	geometry->seek_root = (SEEK_AVERAGE - SEEK_SETTLE - mean * longest) / (mean_root - mean);
	geometry->seek_linear = longest - geometry->seek_root;

	/* The next track begins where the head is after the shortest seek. */
	geometry->skew = geometry__seek(geometry, 0, 1) / geometry->revolution + SKEW_MARGIN;
	geometry->stream_rate = MEDIA_RATE / (1.0 + geometry->skew);
}

uint64_t
geometry__track(const struct geometry *geometry, uint64_t offset)
{
	return (uint64_t) ((double) offset / geometry->track_bytes);
}

/* Time to move the arm from one track to another, ns. */
double
geometry__seek(const struct geometry *geometry, uint64_t from, uint64_t to)
{
	double		distance = (double) (from < to ? to - from : from - to) / geometry->tracks;

	if (distance == 0)
		return 0;
	return geometry->seek_settle + geometry->seek_root * sqrt(distance) +
		geometry->seek_linear * distance;
}

/*
 * Time from `time`, when the arm is on `track`, until the head is at `offset`,
 * ns.  The part of it that is a seek is stored in *seek.
 */
double
geometry__access(const struct geometry *geometry, uint64_t track, uint64_t offset,
				 uint64_t time, double *seek)
{
	uint64_t	target = geometry__track(geometry, offset);
	double		place = (double) offset / geometry->track_bytes + (double) target * geometry->skew;
	double		head;
	double		wait;

	*seek = geometry__seek(geometry, track, target);
	head = ((double) time + *seek) / geometry->revolution + geometry->phase;
	wait = place - head;
	wait -= floor(wait);
	if (wait > 1.0 - ROTATION_TOLERANCE)
		wait = 0;
	return *seek + wait * geometry->revolution;
}

/* Time to read or write a range once the head is at its start, ns. */
double
geometry__transfer(const struct geometry *geometry, uint64_t offset, uint32_t length)
{
	uint64_t	crossings;

	if (length == 0)
		return 0;
	crossings = geometry__track(geometry, offset + length - 1) - geometry__track(geometry, offset);
	return length / geometry->media_rate +
		(double) crossings * geometry->skew * geometry->revolution;
}
