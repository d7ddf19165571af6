/*
 * range.c
 *		Parses FROM-LSN..TO-LSN, FROM-LSN.. and names of segments, with a path or
 *		without.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "prefault/range.h"
#include "wal/segments.h"

/* Parse a position up to "end", a NULL or the text behind it.  False if it is none. */
static bool
parse_lsn(const char *text, const char *end, uint64_t *lsn)
{
	uint32_t	high;
	uint32_t	low;
	int			length = 0;

	if (strspn(text, "0123456789abcdefABCDEF/") != (size_t) (end - text) ||
		sscanf(text, "%8" SCNx32 "/%8" SCNx32 "%n", &high, &low, &length) != 2 ||
		text + length != end)
		return false;
	*lsn = (uint64_t) high << 32 | low;
	return true;
}

static int
parse_positions(struct range *range, const char *word, const char *dots)
{
	const char *end = dots + strlen("..");

	range->to = RANGE_OPEN_END;
	range->may_end = *end == '\0';
	if (!parse_lsn(word, dots, &range->from) ||
		(*end != '\0' && !parse_lsn(end, end + strlen(end), &range->to)))
	{
		log_error("\"%s\" names no part of WAL: give positions as in 0/3000028..0/4000000", word);
		return -EINVAL;
	}
	if (range->to <= range->from)
	{
		log_error("\"%s\" ends before it begins; swap the positions", word);
		return -EINVAL;
	}
	return 0;
}

/*
 * Parse a word.  Segments that are named without a path are in "directory"; a segment's
 * name has its timeline, positions are of "timeline".  Returns 0, or -EINVAL after a
 * message.
 */
int
range__parse(struct range *range, const char *word, const char *directory, uint32_t timeline,
			 uint32_t segment_bytes)
{
	const char *dots = strstr(word, "..");
	const char *slash = strrchr(word, '/');
	const char *name = slash != NULL ? slash + 1 : word;
	uint64_t	segment;

	*range = (struct range) {.timeline = timeline,.may_end = true};
	snprintf(range->directory, sizeof(range->directory), "%s", directory);
	if (wal_segments__parse(name, segment_bytes, &range->timeline, &segment))
	{
		if (slash != NULL)
			snprintf(range->directory, sizeof(range->directory), "%.*s",
					 slash == word ? 1 : (int) (slash - word), word);
		range->from = segment * segment_bytes;
		range->to = range->from + segment_bytes;
		return 0;
	}
	if (dots != NULL)
		return parse_positions(range, word, dots);
	log_error("\"%s\" is neither FROM-LSN..TO-LSN nor the name of a WAL segment of %" PRIu32
			  " bytes; names are as in pg_wal", word, segment_bytes);
	return -EINVAL;
}
