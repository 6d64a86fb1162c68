/*
 * A process whose first thread leaves by pthread_exit lives as long as its last thread, by libc's
 * count, in which our own takes part. So pthread_exit is hooked, for the first thread alone.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lifecycle.h"

__attribute__((visibility("default"), noreturn)) void pthread_exit(void *value)
{
	void (*real)(void *value);

	*(void **)(void *)&real = dlsym(RTLD_NEXT, "pthread_exit");
	if (syscall(SYS_gettid) == getpid() && vs_lifecycle_is_begun())
		vs_lifecycle_do_without_thread();
	if (real)
		real(value);
	/* No libc without one; should it be so, the thread ends as the kernel sees it. */
	for (;;)
		syscall(SYS_exit, 0);
}
