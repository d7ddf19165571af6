/*
 * worker.c
 *		Starts a background worker of this library.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "postmaster/bgworker.h"
#include "worker.h"

/*
 * Start a worker with a function of this library; false if there is no free slot.
 *
 * The library is named by the path that it was loaded from.  By another name, or from another
 * file that has replaced it, the worker would load a second copy, whose variables are not set.
 */
bool
worker__start(const char *name, const char *function)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS,
		.bgw_start_time = BgWorkerStart_PostmasterStart,
		.bgw_restart_time = BGW_NEVER_RESTART,
	};
	Dl_info		library;

	if (dladdr(&worker__start, &library) == 0 ||
		strlcpy(worker.bgw_library_name, library.dli_fname,
				sizeof(worker.bgw_library_name)) >= sizeof(worker.bgw_library_name))
		return false;
	strlcpy(worker.bgw_name, name, sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, name, sizeof(worker.bgw_type));
	strlcpy(worker.bgw_function_name, function, sizeof(worker.bgw_function_name));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}
