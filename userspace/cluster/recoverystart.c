/*
 * recoverystart.c
 *		Where the next recovery of a cluster begins: at the start of the base backup
 *		that it was restored from, which backup_label has, or at the last checkpoint's
 *		redo position.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cluster/recoverystart.h"

/* Enough for the lines that matter, which are the first ones. */
#define LABEL_BYTES		4096

/* Take the position from the text of a backup_label, if it has one. */
void
recoverystart__parse(struct recoverystart *start, const char *backup_label)
{
	const char *line = strstr(backup_label, "START WAL LOCATION: ");
	uint32_t	high;
	uint32_t	low;
	uint32_t	timeline;

	if (line == NULL ||
		sscanf(line, "START WAL LOCATION: %8" SCNx32 "/%8" SCNx32 " (file %8" SCNx32, &high, &low,
			   &timeline) != 3)
		return;
	start->lsn = (uint64_t) high << 32 | low;
	start->timeline = timeline;
}

/*
 * Read it, and pg_control, from the files of a cluster.  A server that begins to recover
 * enters the label's position into pg_control and renames the label then, so it is read
 * first.  Returns 0, or -errno if pg_control cannot be used.
 */
int
recoverystart__read(struct recoverystart *start, struct controlfile *control,
					const struct cluster *cluster)
{
	char		label[LABEL_BYTES];
	int			n = cluster__read_file(cluster, "backup_label", label, sizeof(label) - 1);
	int			err = controlfile__read(control, cluster);

	if (err < 0)
		return err;
	*start = (struct recoverystart) {
		.lsn = control->redo_lsn,.timeline = control->timeline,
		.from_archive = faccessat(cluster->dirfd, "recovery.signal", F_OK, 0) == 0 ||
		faccessat(cluster->dirfd, "standby.signal", F_OK, 0) == 0,
	};
	if (n > 0)
	{
		label[n] = '\0';
		recoverystart__parse(start, label);
	}
	return 0;
}
