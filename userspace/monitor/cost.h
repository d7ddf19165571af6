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
	double		idle_seconds;	/* since the last interval that had work */
	double		seconds;		/* that redo took before */
	struct forecast_work work;	/* for this */

	/* Sums of products, each divided by the usual cost of its interval, in records. */
	double		records2;
	double		records_blocks;
	double		records_seconds;
	double		blocks2;
	double		blocks_seconds;
};

void		cost__add(struct cost *cost, struct forecast_work work, double seconds);
double		cost__usual(const struct cost *cost, struct forecast_work work);
double		cost__fitted(const struct cost *cost, struct forecast_work work);

#endif							/* REDOAHEAD_MONITOR_COST_H */
