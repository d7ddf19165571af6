/*
 * engine_steer.c
 *		Shows the controller (control.h) what the engine sees, and follows it.
 */
#include "engine/engine_internal.h"

/*
 * Part of available memory that may hold blocks read ahead.  Redo writes most
 * of the pages that it reads, the list of inactive pages that new ones go
 * through holds half of the page cache, and others use the machine, too.
 */
#define MEMORY_PART		8

/* Time between two looks at memory, us. */
#define MEMORY_US		1000000

/* Redo that has not moved for so long stands still, us. */
#define STANDS_STILL_US	500

/* Let the controller see how it goes, and follow it.  To be called often. */
void
engine_steer(struct engine *engine)
{
	struct control *control = &engine->control;
	unsigned	depth = control->io_depth;
	bool		stands_still = engine->reader.now_us - engine->moved_us >= STANDS_STILL_US;

	if (stands_still && engine->suspected_us != engine->moved_us)
	{
		revalidate__redo_stalled(&engine->revalidate, &engine->queue);
		revalidate__redo_stalled(&engine->out_of_order_revalidate, &engine->out_of_order);
		engine->suspected_us = engine->moved_us;
	}

	if (engine->reader.now_us - engine->memory_us >= MEMORY_US)
	{
		uint64_t	part = engine->options.environment.available_bytes() / MEMORY_PART;

		engine->memory_us = engine->reader.now_us;
		engine->full = engine->options.environment.free_bytes() <= part;
		control__fit(control, engine->reader.now_us, part / engine->reader.layout.block_size);
	}
	control__note(control, engine->reader.now_us, engine->reader.counters.blocks_read +
				  engine->reader.counters.blocks_reread, engine->limited, stands_still);
	if (control->io_depth != depth)
		engine->options.backend->set_io_depth(engine->reader.backend, control->io_depth);
}
