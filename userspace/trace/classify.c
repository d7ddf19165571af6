/*
 * classify.c
 *		From the events of the BPF programs to the class of each block that redo read.
 *
 * A block that a read call found in the page cache is timely, unless the call
 * slept: then the block was in flight, and late.  A block that the call had to
 * put into the page cache was missed.  A prefetched block is pending until redo
 * reads it, it is removed from the page cache, or recovery ends.  Where the
 * cause of a miss is not certain, it is unknown.  Pure: no system calls, no clock.
 */
#include "trace/classify.h"

/* block_state.flags */
#define BLOCK_AHEAD			0x01	/* prefetched, and in the page cache */
#define BLOCK_EVICTED		0x02	/* prefetched, and evicted before use */
#define BLOCK_REFERENCED	0x04	/* the server gave the daemon a reference */

/* What identifies a block. */
struct block_key
{
	uint32_t	row;			/* of its fork or SLRU */
	uint32_t	block;			/* in the fork */
};

/* A block that redo has not read since it was prefetched or referenced. */
struct block_state
{
	struct block_key key;		/* which one */
	uint8_t		flags;			/* BLOCK_* */
	uint8_t		source;			/* enum tally_source: who prefetched it */
	uint16_t	reserved;		/* 0 */
};

/* Start without blocks; max_slots bounds the table, a power of two. */
int
classify__create(struct classify *classify, struct files *files, uint32_t block_size,
				 uint64_t max_slots)
{
	*classify = (struct classify) {.files = files,.block_size = block_size};
	return hash__create(&classify->blocks, sizeof(struct block_state),
						sizeof(struct block_key), max_slots);
}

/* Free the table. */
void
classify__destroy(struct classify *classify)
{
	hash__destroy(&classify->blocks);
}

static struct block_state *
find_block(struct classify *classify, uint32_t row, uint32_t block)
{
	const struct block_key key = {.row = row,.block = block};

	return hash__find(&classify->blocks, &key);
}

static struct block_state *
add_block(struct classify *classify, uint32_t row, uint32_t block)
{
	const struct block_key key = {.row = row,.block = block};
	struct block_state *state = hash__add(&classify->blocks, &key);

	if (state == NULL)
		classify->lost_blocks++;
	return state;
}

/* A prefetched block is wasted. */
static void
waste(struct classify *classify, struct block_state *state, enum tally_waste how)
{
	struct tally_row *row = tally__row(classify->tally, state->key.row);

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
cause_of(const struct classify *classify, const struct block_state *state)
{
	if (state != NULL && (state->flags & BLOCK_EVICTED))
		return TALLY_EVICTED;
	if (classify->daemon == CLASSIFY_DAEMON_NONE)
		return TALLY_NO_DAEMON;
	if (classify->daemon == CLASSIFY_DAEMON_UNKNOWN)
		return TALLY_UNKNOWN;
	if (state != NULL && (state->flags & BLOCK_REFERENCED))
		return TALLY_NOT_READ;
	/* A reference may have come after the last ones were read. */
	return classify->references_complete && classify->read_ns <= classify->now_ns ?
		TALLY_NOT_REFERENCED : TALLY_UNKNOWN;
}

/* Redo has read one block; returns its class. */
static enum tally_class
read_block(struct classify *classify, uint32_t row_number, uint32_t block, bool missed, bool slept)
{
	struct tally *tally = classify->tally;
	struct tally_row *row = tally__row(tally, row_number);
	struct block_state *state = find_block(classify, row_number, block);
	enum tally_class class = missed ? TALLY_MISSED : slept ? TALLY_LATE : TALLY_TIMELY;
	enum tally_source source = TALLY_CACHED;

	if (missed)
	{
		/* It was prefetched, so it was evicted, even if that was not reported. */
		if (state != NULL && (state->flags & BLOCK_AHEAD))
			waste(classify, state, TALLY_WASTE_EVICTED);
		tally->missed[cause_of(classify, state)]++;
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
		hash__remove(&classify->blocks, state);
	tally->blocks[class][source]++;
	if (row != NULL)
		row->read[class]++;
	return class;
}

/* The row of the resource manager whose record is being redone. */
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
	struct files_place place = files__place(classify->files, event->file);
	uint32_t	blocks = (event->bytes + classify->block_size - 1) / classify->block_size;
	struct tally *tally = classify->tally;
	enum tally_class worst = TALLY_TIMELY;
	struct tally_sample *sample;
	struct tally_row *row;

	if (place.row == FILES_NONE || (pid_t) event->pid != classify->startup)
		return;
	if (place.row == FILES_WAL)
	{
		read_wal(classify, event);
		return;
	}
	classify->read_ns = event->at_ns;
	sample = tally__sample(tally, event->at_ns != 0 ? event->at_ns : classify->now_ns);
	for (uint32_t i = 0; i < blocks; i++)
	{
		bool		missed = i < TRACE_READ_BLOCKS && (event->missed >> i & 1) != 0;
		bool		slept = (event->flags & TRACE_READ_SLEPT) != 0 && event->missed == 0;
		enum tally_class class = read_block(classify, place.row,
											place.first_block + event->block + i, missed, slept);

		rmgr_row(classify, event)->read[class]++;
		sample->read[class]++;
		if (class > worst)
			worst = class;
	}
	tally->calls[worst]++;
	tally->bytes += event->bytes;
	tally->wait_ns[worst] += event->wait_ns;
	if (event->wait_ns != 0)
		tally->wait_slots[worst][tally__slot(event->wait_ns)]++;
	rmgr_row(classify, event)->wait_ns += event->wait_ns;
	sample->wait_ns += event->wait_ns;
	row = tally__row(tally, place.row);
	if (row != NULL)
		row->wait_ns += event->wait_ns;
	if (event->flags & TRACE_READ_RECORD)
		tally->replay_lsn = sample->lsn = event->lsn;
}

/* Blocks were put into the page cache ahead of redo. */
static void
handle_insert(struct classify *classify, const struct trace_pages *event)
{
	struct files_place place = files__place(classify->files, event->file);
	struct tally *tally = classify->tally;

	if (place.row >= FILES_WAL || event->who >= TALLY_PREFETCHERS)
		return;
	/* Before the startup process is known, other processes are followed, too. */
	if (event->who != TRACE_WHO_DAEMON && (pid_t) event->pid != classify->startup)
		return;
	for (uint32_t i = 0; i < event->blocks; i++)
	{
		struct block_state *state = add_block(classify, place.row,
											  place.first_block + event->block + i);
		struct tally_row *row = tally__row(tally, place.row);

		/* Another page of the same block has been reported already. */
		if (state == NULL || (state->flags & BLOCK_AHEAD))
			continue;
		state->flags = (uint8_t) ((state->flags & ~BLOCK_EVICTED) | BLOCK_AHEAD);
		state->source = event->who;
		tally->prefetchers[event->who].prefetched++;
		classify->pending[event->who]++;
		if (event->who == TALLY_READAHEAD)
			continue;
		tally__sample(tally, classify->now_ns)->prefetched++;
		if (row != NULL)
			row->prefetched++;
	}
}

/* Blocks were removed from the page cache. */
static void
handle_delete(struct classify *classify, const struct trace_pages *event)
{
	struct files_place place = files__place(classify->files, event->file);

	if (place.row >= FILES_WAL)
		return;
	for (uint32_t i = 0; i < event->blocks; i++)
	{
		struct block_state *state = find_block(classify, place.row,
											   place.first_block + event->block + i);

		if (state == NULL || !(state->flags & BLOCK_AHEAD))
			continue;
		waste(classify, state, event->who == TRACE_WHO_STARTUP ?
			  TALLY_WASTE_DROPPED : TALLY_WASTE_EVICTED);
		if (state->flags == 0)
			hash__remove(&classify->blocks, state);
	}
}

/* Take an event of the BPF programs; one that is too short or unknown is ignored. */
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
				classify->lost_files += files__add(classify->files, event) < 0;
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

/* The server gave the daemon a reference to a block of a fork or SLRU. */
void
classify__reference(struct classify *classify, const struct relpath_key *key, uint32_t block)
{
	uint32_t	row = files__row(classify->files, key);
	struct block_state *state = row == FILES_NONE ? NULL : add_block(classify, row, block);

	if (state != NULL)
		state->flags |= BLOCK_REFERENCED;
}

/* Recovery is complete: redo will not read what it has not read yet. */
void
classify__end(struct classify *classify)
{
	struct block_state *state = NULL;

	while ((state = hash__next(&classify->blocks, state)) != NULL)
		if (state->flags & BLOCK_AHEAD)
			waste(classify, state, TALLY_WASTE_UNREAD);
}
