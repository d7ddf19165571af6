/*
 * setup.c
 *		Makes an engine as the user wants it, or as the machine allows: the backend
 *		that works, and as many descriptors as may be open.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "common/available.h"
#include "engine/setup.h"

/*
 * Raise the limit of descriptors as far as necessary and possible; returns how many
 * data files may be open.
 */
static unsigned
fit_files(unsigned wanted)
{
	struct rlimit limit;
	rlim_t		usable;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return wanted;
	if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < wanted + SETUP_OTHER_DESCRIPTORS)
	{
		rlim_t		before = limit.rlim_cur;

		limit.rlim_cur = limit.rlim_max;
		if (limit.rlim_cur > wanted + SETUP_OTHER_DESCRIPTORS)
			limit.rlim_cur = wanted + SETUP_OTHER_DESCRIPTORS;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			limit.rlim_cur = before;
	}
	usable = limit.rlim_cur > SETUP_OTHER_DESCRIPTORS ? limit.rlim_cur - SETUP_OTHER_DESCRIPTORS : 1;
	if (usable >= wanted)
		return wanted;
	log_info("keeping %u data files open, not %u: RLIMIT_NOFILE is %llu",
			 (unsigned) usable, wanted, (unsigned long long) limit.rlim_cur);
	return (unsigned) usable;
}

/* What the user can do about a refusal of io_uring. */
static const char *
uring_remedy(int err)
{
	switch (-err)
	{
		case EPERM:
			return "allow it in sysctl kernel.io_uring_disabled or in the seccomp filter";
		case ENOSYS:
			return "allow it in the seccomp filter or use a kernel with io_uring";
		case ENOMEM:
			return "raise RLIMIT_MEMLOCK or the memory limit";
		default:
			return "use --backend=fadvise";
	}
}

/*
 * Make an engine of this machine with the backend "auto", "io_uring" or "fadvise"; *chosen
 * receives which.  no_uring: io_uring failed before, so "auto" is something else.  Environment
 * and backend of the options are set here.  Returns 0, or -errno after a message.
 */
int
setup__engine(struct engine **engine, struct engine_options options, const char *backend,
			  bool no_uring, const struct backend_ops **chosen)
{
	int			err;

	options.environment = (struct engine_environment)
	{
		.now_us = clock__now_us,.available_bytes = available__bytes,
			.free_bytes = available__free_bytes
	};
	options.files = fit_files(options.files);
	if (strcmp(backend, "fadvise") != 0 && !no_uring)
	{
		*chosen = options.backend = &backend_uring;
		err = engine__create(engine, &options);
		if (err == 0)
			return 0;
		if (strcmp(backend, "io_uring") == 0)
		{
			log_error("io_uring cannot be used: %s; %s", strerror(-err), uring_remedy(err));
			return err;
		}
		log_warning("io_uring cannot be used: %s; using posix_fadvise, which is slower; %s",
					strerror(-err), uring_remedy(err));
	}
	*chosen = options.backend = &backend_fadvise;
	err = engine__create(engine, &options);
	if (err < 0)
		log_error("cannot start: %s; lower --io-depth, --readahead-limit or --files",
				  strerror(-err));
	return err;
}
