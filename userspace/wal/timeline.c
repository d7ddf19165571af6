/*
 * timeline.c
 *		Reads timeline history files.
 *
 * The file of a timeline has a line for each timeline before it, oldest first: its ID
 * and the position where the next one branched off.  The IDs ascend, so there can be no
 * circle.  Positions need not: after recovery to a time before the last promotion, the newest
 * timeline begins before the one that was recovered.  A first timeline has no file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wal/timeline.h"

/* Greatest size of a history file: 256 bytes for each entry. */
#define MAX_FILE_BYTES	(256 * TIMELINE_MAX_ENTRIES)

/* Add an entry.  Returns 0 or -ENOMEM. */
static int
add(struct timeline_history *history, uint32_t timeline, uint64_t begin)
{
	struct timeline_entry *grown;

	grown = realloc(history->entries, (history->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	history->entries = grown;
	grown[history->count++] = (struct timeline_entry) {timeline, begin, UINT64_MAX};
	return 0;
}

/* Each timeline ends where the first of all newer ones begins. */
static void
set_ends(struct timeline_history *history)
{
	uint64_t	end = UINT64_MAX;

	for (unsigned i = history->count; i-- > 0;)
	{
		history->entries[i].end = end;
		if (history->entries[i].begin < end)
			end = history->entries[i].begin;
	}
}

/*
 * Read the history of a timeline from its file; file may be NULL, where there is none.
 * Returns 0, or -EBADMSG, -EIO or -ENOMEM with a message.
 */
int
timeline__parse(struct timeline_history *history, uint32_t timeline, FILE *file,
				char message[TIMELINE_MESSAGE_BYTES])
{
	uint64_t	begin = 0;		/* of the next timeline */
	uint32_t	last = 0;
	char	   *line = NULL;
	size_t		room = 0;
	int			err = 0;

	*history = (struct timeline_history) {0};
	while (err == 0 && file != NULL && getline(&line, &room, file) >= 0)
	{
		const char *text = line + strspn(line, " \t\r\n");
		uint32_t	id;
		uint32_t	high;
		uint32_t	low;
		bool		is_whole = strchr(line, '\n') != NULL;

		line[strcspn(line, "\r\n")] = '\0';
		if (*text == '\0' || *text == '#')
			continue;
		snprintf(message, TIMELINE_MESSAGE_BYTES, "the history of timeline %" PRIu32
				 " has the line \"%.80s\"; restore the file from the archive", timeline, text);
		if (!is_whole ||
			sscanf(text, "%" SCNu32 " %8" SCNx32 "/%8" SCNx32, &id, &high, &low) != 3 ||
			id <= last || id >= timeline || history->count == TIMELINE_MAX_ENTRIES)
			err = -EBADMSG;
		else
		{
			err = add(history, id, begin);
			last = id;
			begin = (uint64_t) high << 32 | low;
		}
	}
	if (err == 0 && file != NULL && ferror(file))
	{
		snprintf(message, TIMELINE_MESSAGE_BYTES, "cannot read the history of timeline %" PRIu32,
				 timeline);
		err = -EIO;
	}
	if (err == 0)
		err = add(history, timeline, begin);
	if (err == -ENOMEM)
		snprintf(message, TIMELINE_MESSAGE_BYTES, "not enough memory");
	free(line);
	if (err < 0)
		timeline__destroy(history);
	else
		set_ends(history);
	return err;
}

/*
 * Read the history of a timeline from a directory of WAL.  Where it has no history file,
 * the timeline counts as the only one.  Returns as timeline__parse().
 */
int
timeline__read(struct timeline_history *history, uint32_t timeline, int dirfd,
			   char message[TIMELINE_MESSAGE_BYTES])
{
	char		name[32];
	FILE	   *file = NULL;
	struct stat st;
	int			fd;
	int			err;

	snprintf(name, sizeof(name), "%08" PRIX32 ".history", timeline);
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno != ENOENT)
	{
		snprintf(message, TIMELINE_MESSAGE_BYTES, "cannot open \"%s\": %s", name,
				 strerror(errno));
		return -EIO;
	}
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_FILE_BYTES))
	{
		snprintf(message, TIMELINE_MESSAGE_BYTES, "\"%s\" is no history of a timeline; restore "
				 "the file from the archive", name);
		close(fd);
		return -EBADMSG;
	}
	if (fd >= 0 && (file = fdopen(fd, "r")) == NULL)
		close(fd);
	err = timeline__parse(history, timeline, file, message);
	if (file != NULL)
		fclose(file);
	return err;
}

void
timeline__destroy(struct timeline_history *history)
{
	free(history->entries);
	*history = (struct timeline_history) {0};
}
