/*
 * serverstate.c
 *		What state is the server of a cluster in?
 *
 * The postmaster writes that into the eighth line of postmaster.pid.  It does not when it
 * recovers from the crash of one of its processes; pg_control has that.
 */
#include <string.h>

#include "cluster/controlfile.h"
#include "cluster/processes.h"
#include "cluster/serverstate.h"

/* Does crash recovery run, or did one when the server was ended? */
bool
serverstate__in_crash_recovery(const struct cluster *cluster)
{
	struct controlfile control;

	return controlfile__read(&control, cluster) == 0 &&
		control.state == CONTROLFILE_IN_CRASH_RECOVERY;
}

/* As the files have it, which a server that was killed leaves behind. */
enum serverstate
serverstate__read(const struct cluster *cluster)
{
	static const struct
	{
		const char *word;		/* in the file, with spaces behind it */
		enum serverstate state;
	}			states[] = {
		{"starting", SERVERSTATE_STARTING}, {"ready", SERVERSTATE_READY},
		{"standby", SERVERSTATE_STANDBY}, {"stopping", SERVERSTATE_STOPPING},
	};
	char		text[8192];
	const char *line = text;
	int			n = cluster__read_file(cluster, "postmaster.pid", text, sizeof(text) - 1);

	if (n <= 0)
		return SERVERSTATE_NONE;
	text[n] = '\0';
	for (int i = 1; i < 8; i++)
	{
		line = strchr(line, '\n');
		/* The file is written line by line while the server starts. */
		if (line == NULL)
			return SERVERSTATE_STARTING;
		line++;
	}
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strncmp(line, states[i].word, strlen(states[i].word)) == 0)
			return states[i].state == SERVERSTATE_READY && serverstate__in_crash_recovery(cluster) ?
				SERVERSTATE_STARTING : states[i].state;
	return *line == '\0' ? SERVERSTATE_STARTING : SERVERSTATE_OTHER;
}

/* Does a server run on the cluster that takes connections? */
bool
serverstate__is_ready(const struct cluster *cluster)
{
	return processes__postmaster(cluster) != 0 && serverstate__read(cluster) == SERVERSTATE_READY;
}
