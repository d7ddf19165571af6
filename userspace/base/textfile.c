/*
 * textfile.c
 *		Files that an option names, for lines of text.
 *
 * What cannot be written is logged; what is written, and when it is flushed, is
 * the caller's matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/*
 * Create the file, or empty it if it is of this user and has no other name.  Links are
 * not followed.  For a process with rights that others lack, who may be able to write
 * to the directory.
 */
int
textfile__open_own(FILE **file, const char *path, const char *option)
{
	int			fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0666);
	const char *reason = NULL;
	struct stat st;

	*file = NULL;
	if (fd < 0)
		reason = errno == ELOOP ? "it is a symbolic link" : strerror(errno);
	else if (fstat(fd, &st) < 0)
		reason = strerror(errno);
	else if (st.st_uid != geteuid() && !(S_ISCHR(st.st_mode) && st.st_uid == 0))
		reason = "it belongs to another user";
	else if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		reason = "it has other names, too";
	else if ((S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0) || (*file = fdopen(fd, "w")) == NULL)
		reason = strerror(errno);
	if (reason == NULL)
		return 0;
	log_error("file \"%s\" cannot be written: %s; give another one with %s", path, reason, option);
	if (fd >= 0)
		close(fd);
	return -EPERM;
}

/* Report that the file, which may be NULL, could not be written, once each time. */
void
textfile__report(FILE *file, const char *option)
{
	if (file != NULL && (fflush(file) != 0 || ferror(file)))
	{
		log_error("the file of %s is incomplete; make room for it", option);
		clearerr(file);
	}
}

/*
 * Open the file anew, because the one that was written to may have been renamed; what
 * is written from now on is appended.  The old one is kept if that fails, and reported.
 */
void
textfile__reopen(FILE *file, const char *path, const char *option)
{
	int			fd;

	textfile__report(file, option);
	/* O_NONBLOCK is for a FIFO that nobody reads. */
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
	/* One that is full is waited for, as it was before. */
	if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0 || dup3(fd, fileno(file), O_CLOEXEC) < 0)
		log_warning("file \"%s\" cannot be opened again: %s; check the directory of %s",
					path, strerror(errno), option);
	clearerr(file);
	if (fd >= 0)
		close(fd);
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
