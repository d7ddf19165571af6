/*
 * classify.c
 *		From what was seen to what it means for redo: events in, counts out.
 *
 * A block that a read call found is timely, unless the call slept: then the
 * block was on its way, and late.  A block that the call had to put into the
 * page cache was missed.  What was prefetched is kept in mind until redo reads
 * it, or it leaves the page cache, or recovery ends.  Why a block was missed
 * is said only as far as it can be told.  Pure: no system calls, no clock.
 */
#include <string.h>

#include "trace/classify.h"

/* Begin with nothing known. */
int
classify__create(struct classify *classify, struct files *files,
				 uint32_t block_size, uint64_t max_blocks)
{
	*classify = (struct classify) {.files = files,.block_size = block_size};
	return blocks__create(&classify->blocks, max_blocks);
}

/* Forget all. */
void
classify__destroy(struct classify *classify)
{
	blocks__destroy(&classify->blocks);
}

static bool
is_wal(const struct classify *classify, uint32_t file)
{
	return files__key(classify->files, file)->kind == RELPATH_KIND_WAL;
}

/* A prefetched block is lost unread; was it evicted, that will be a cause. */
static void
waste(struct classify *classify, struct block_state *state, enum tally_waste how)
{
	uint32_t	file = blocks__file_of(state);
	struct tally_row *row = tally__row(classify->tally, files__row(classify->files, file));

	classify->tally->prefetchers[state->source].wasted[how]++;
	classify->pending[state->source]--;
	state->flags &= (uint8_t) ~BLOCK_AHEAD;
	if (state->source == TALLY_READAHEAD)
		return;
	if (row != NULL)
		row->wasted++;
	if (how == TALLY_WASTE_EVICTED)
		state->flags |= BLOCK_EVICTED;
}

/* Why was a block missed? */
static enum tally_cause
cause_of(struct classify *classify, const struct block_state *state, bool read_before)
{
	if (state != NULL && (state->flags & BLOCK_EVICTED))
		return TALLY_EVICTED;
	if (classify->engine == CLASSIFY_ENGINE_DOWN)
		return TALLY_ENGINE_DOWN;
	if (classify->engine == CLASSIFY_ENGINE_UNKNOWN)
		return TALLY_UNKNOWN;
	if (state != NULL && (state->flags & BLOCK_NAMED))
	{
		if (classify->failed == 0)
			return TALLY_BEYOND_WINDOW;
		classify->failed--;
		return TALLY_FAILED;
	}
	if (!classify->references_complete)
		return TALLY_UNKNOWN;
	return read_before ? TALLY_FILTERED : TALLY_NOT_REFERENCED;
}

/* Redo has read one block; returns its class. */
static enum tally_class
read_block(struct classify *classify, uint32_t file, uint32_t block, bool missed, bool slept)
{
	struct tally *tally = classify->tally;
	struct tally_row *row = tally__row(tally, files__row(classify->files, file));
	struct block_state *state = blocks__find(&classify->blocks, file, block);
	bool		before = files__was_read(classify->files, file, block);
	enum tally_class class = missed ? TALLY_MISSED : slept ? TALLY_LATE : TALLY_TIMELY;
	enum tally_source source = TALLY_CACHED;

	if (missed)
	{
		/* It was there, so it must have been evicted, though nobody said so. */
		if (state != NULL && (state->flags & BLOCK_AHEAD))
			waste(classify, state, TALLY_WASTE_EVICTED);
		tally->missed[cause_of(classify, state, before)]++;
	}
	else if (state != NULL && (state->flags & BLOCK_AHEAD))
	{
		source = state->source;
		tally->prefetchers[source].used++;
		classify->pending[source]--;
		if (row != NULL && source != TALLY_READAHEAD)
			row->used++;
	}
	if (state != NULL)
		state->flags = 0;
	tally->blocks[class][source]++;
	if (row != NULL)
		row->read[class]++;
	return class;
}

/* The row of what is being redone. */
static struct tally_row *
rmgr_row(struct classify *classify, const struct trace_read *event)
{
	return event->flags & TRACE_READ_RECORD ?
		&classify->tally->rmgrs[event->rmid] : &classify->tally->no_rmgr;
}

/* A call that read WAL. */
static void
read_wal(struct classify *classify, const struct trace_read *event)
{
	struct tally *tally = classify->tally;
	enum tally_class class = event->missed != 0 ? TALLY_MISSED :
		event->flags & TRACE_READ_SLEPT ? TALLY_LATE : TALLY_TIMELY;

	tally->wal_calls[class]++;
	tally->wal_bytes += event->bytes;
	tally->wal_wait_ns += event->wait_ns;
}

/* The startup process has read. */
static void
handle_read(struct classify *classify, const struct trace_read *event)
{
	uint32_t	file = files__of_number(classify->files, event->file);
	uint32_t	blocks = (event->bytes + classify->block_size - 1) / classify->block_size;
	struct tally *tally = classify->tally;
	enum tally_class worst = TALLY_TIMELY;
	struct tally_moment *moment;
	struct tally_row *row;

	if (file == FILES_NONE || (pid_t) event->pid != classify->startup)
		return;
	if (is_wal(classify, file))
	{
		read_wal(classify, event);
		return;
	}
	moment = tally__moment(tally, event->at_ns != 0 ? event->at_ns : classify->now_ns);
	for (uint32_t i = 0; i < blocks; i++)
	{
		bool		missed = i < TRACE_READ_BLOCKS && (event->missed >> i & 1) != 0;
		bool		slept = (event->flags & TRACE_READ_SLEPT) != 0 && event->missed == 0;
		enum tally_class class = read_block(classify, file, event->block + i, missed, slept);

		rmgr_row(classify, event)->read[class]++;
		moment->read[class]++;
		if (class > worst)
			worst = class;
	}
	tally->calls[worst]++;
	tally->bytes += event->bytes;
	tally->wait_ns[worst] += event->wait_ns;
	if (event->wait_ns != 0)
		tally->wait_slots[worst][tally__slot(event->wait_ns)]++;
	rmgr_row(classify, event)->wait_ns += event->wait_ns;
	moment->wait_ns += event->wait_ns;
	row = tally__row(tally, files__row(classify->files, file));
	if (row != NULL)
		row->wait_ns += event->wait_ns;
	if (event->flags & TRACE_READ_RECORD)
		tally->replay_lsn = moment->lsn = event->lsn;
}

/* Blocks have been put into the page cache ahead of redo. */
static void
handle_insert(struct classify *classify, const struct trace_pages *event)
{
	uint32_t	file = files__of_number(classify->files, event->file);
	struct tally *tally = classify->tally;

	if (file == FILES_NONE || is_wal(classify, file) || event->who >= TALLY_PREFETCHERS)
		return;
	/* Before it was known, other children of the postmaster were followed, too. */
	if (event->who != TRACE_WHO_DAEMON && (pid_t) event->pid != classify->startup)
		return;
	for (uint32_t i = 0; i < event->blocks; i++)
	{
		struct block_state *state = blocks__add(&classify->blocks, file, event->block + i);
		struct tally_row *row = tally__row(tally, files__row(classify->files, file));

		/* The other page of a block that is known already. */
		if (state == NULL || (state->flags & BLOCK_AHEAD))
			continue;
		state->flags = (uint8_t) ((state->flags & ~BLOCK_EVICTED) | BLOCK_AHEAD);
		state->source = event->who;
		tally->prefetchers[event->who].prefetched++;
		classify->pending[event->who]++;
		if (event->who == TALLY_READAHEAD)
			continue;
		tally__moment(tally, classify->now_ns)->prefetched++;
		if (row != NULL)
			row->prefetched++;
	}
}

/* Blocks have left the page cache. */
static void
handle_delete(struct classify *classify, const struct trace_pages *event)
{
	uint32_t	file = files__of_number(classify->files, event->file);

	if (file == FILES_NONE || is_wal(classify, file))
		return;
	for (uint32_t i = 0; i < event->blocks; i++)
	{
		struct block_state *state = blocks__find(&classify->blocks, file, event->block + i);

		if (state == NULL || !(state->flags & BLOCK_AHEAD))
			continue;
		waste(classify, state, event->who == TRACE_WHO_STARTUP ?
			  TALLY_WASTE_DROPPED : TALLY_WASTE_EVICTED);
	}
}

/* Something was seen; what is too short or unknown is no event. */
void
classify__event(struct classify *classify, const void *event, size_t size)
{
	_Static_assert((int) TRACE_WHO_DAEMON == TALLY_DAEMON &&
				   (int) TRACE_WHO_SERVER == TALLY_SERVER &&
				   (int) TRACE_WHO_READAHEAD == TALLY_READAHEAD, "who is a source");

	switch (size == 0 ? 0 : *(const uint8_t *) event)
	{
		case TRACE_EVENT_FILE:
			if (size >= sizeof(struct trace_file))
				(void) files__met(classify->files, event);
			break;
		case TRACE_EVENT_READ:
			if (size >= sizeof(struct trace_read))
				handle_read(classify, event);
			break;
		case TRACE_EVENT_INSERT:
			if (size >= sizeof(struct trace_pages))
				handle_insert(classify, event);
			break;
		case TRACE_EVENT_DELETE:
			if (size >= sizeof(struct trace_pages))
				handle_delete(classify, event);
			break;
	}
}

/* The server has asked the daemon for a block. */
void
classify__reference(struct classify *classify, const struct relpath_key *key, uint32_t block)
{
	uint32_t	file = files__of_key(classify->files, key);
	struct block_state *state;

	if (file == FILES_NONE)
		return;
	state = blocks__add(&classify->blocks, file, block);
	if (state != NULL)
		state->flags |= BLOCK_NAMED;
}

/* Recovery is over: what has not been read never will be. */
void
classify__end(struct classify *classify)
{
	for (uint64_t i = 0; i < classify->blocks.slot_count; i++)
		if (classify->blocks.slots[i].flags & BLOCK_AHEAD)
			waste(classify, &classify->blocks.slots[i], TALLY_WASTE_UNREAD);
}
