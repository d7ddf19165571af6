/*
 * options.c
 *		What the subcommands share: numbers, the data directory, how much is
 *		logged, and the signals that end them.  Wrong usage ends the program with
 *		a message, as argp does it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>

#include "cmd/options.h"
#include "base/log.h"

/* The number that an option is given, from min to max. */
uint64_t
options__number(struct argp_state *state, const char *name, const char *text,
				uint64_t min, uint64_t max)
{
	char	   *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' ||
		number < min || number > max)
		argp_error(state, "--%s=%s: not a number from %llu to %llu", name, text,
				   (unsigned long long) min, (unsigned long long) max);
	return number;
}

/*
 * What all subcommands do alike: -D, whose default is $PGDATA, -v, and no other
 * arguments.  ARGP_ERR_UNKNOWN for all else.
 */
error_t
options__common(int key, char *value, struct argp_state *state, const char **pgdata)
{
	switch (key)
	{
		case 'D':
			*pgdata = value;
			break;
		case 'v':
			log__set_verbose(1);
			break;
		case ARGP_KEY_ARG:
			argp_error(state, "too many arguments (first is \"%s\")", value);
			break;
		case ARGP_KEY_END:
			if (*pgdata == NULL)
				*pgdata = getenv("PGDATA");
			if (*pgdata == NULL || (*pgdata)[0] == '\0')
				argp_error(state, "no data directory; give one with -D or in PGDATA");
			break;
		default:
			return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Block the signals that end us; a descriptor that receives them, or -errno. */
int
options__signals(void)
{
	sigset_t	signals;
	int			fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
