/*
 * textfile.c
 *		Files that an option names, for lines of text.
 *
 * What cannot be written is logged; what is written, and when it is flushed, is
 * the caller's matter.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/textfile.h"

/* Create or empty the file. */
int
textfile__open(FILE **file, const char *path, const char *option)
{
	int			err;

	*file = fopen(path, "we");
	if (*file != NULL)
		return 0;
	err = -errno;
	log_error("file \"%s\" cannot be written: %s; give another one with %s",
			  path, strerror(-err), option);
	return err;
}

/* Close the file; NULL is fine.  -EIO if anything that was written is not in it. */
int
textfile__close(FILE *file, const char *option)
{
	bool		failed;

	if (file == NULL)
		return 0;
	failed = ferror(file) != 0;
	if (fclose(file) == 0 && !failed)
		return 0;
	log_error("the file of %s is incomplete; make room for it", option);
	return -EIO;
}
