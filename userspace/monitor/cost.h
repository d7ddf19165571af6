/*
 * cost.h
 *		What a record and a block cost redo, from the time that it took for both.
 */
#ifndef REDOAHEAD_MONITOR_COST_H
#define REDOAHEAD_MONITOR_COST_H

#include "monitor/forecast.h"

/* Sums over intervals of a recovery. */
struct cost
{
	double		seconds;		/* that redo took */
	struct forecast_work work;	/* for this */
	double		records2;		/* products of records with themselves, ... */
	double		records_blocks; /* ... with blocks ... */
	double		records_seconds;	/* ... and with seconds */
	double		blocks2;
	double		blocks_seconds;
};

void		cost__add(struct cost *cost, struct forecast_work work, double seconds);
double		cost__usual(const struct cost *cost, struct forecast_work work);
double		cost__fitted(const struct cost *cost, struct forecast_work work);

#endif							/* REDOAHEAD_MONITOR_COST_H */
