/*
 * log.h
 *		The one way to the terminal or the journal for diagnostics.
 */
#ifndef REDOAHEAD_BASE_LOG_H
#define REDOAHEAD_BASE_LOG_H

/* Seriousness of a message; LOG_LEVEL_DEBUG is shown with --verbose only. */
enum log_level
{
	LOG_LEVEL_ERROR,			/* something requested cannot be done */
	LOG_LEVEL_WARNING,			/* it is done, but not as requested */
	LOG_LEVEL_INFO,				/* a change of state */
	LOG_LEVEL_DEBUG				/* details, one line per event */
};

void		log__set_verbose(int verbose);
void		log__write(enum log_level level, const char *format,...)
			__attribute__((format(printf, 2, 3)));

#define log_error(...)		log__write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...)	log__write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)		log__write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)		log__write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif							/* REDOAHEAD_BASE_LOG_H */
