#include "aside.h"

#include <sched.h>
#include <signal.h>

static bool has_one_processor(void)
{
	cpu_set_t processors;

	return sched_getaffinity(0, sizeof(processors), &processors) == 0 &&
	       CPU_COUNT(&processors) < 2;
}

bool vs_aside_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int err;

	if (has_one_processor())
		return false;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return false;
	err = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}
