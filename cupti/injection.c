/*
 * The way in: the driver loads the library that CUDA_INJECTION64_PATH names when cuInit runs, and
 * calls InitializeInjection, before there is a context. Loaded by LD_PRELOAD as well, this library
 * stands in front of CUPTI (cupti_interposed.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "callbacks.h"
#include "cupti_interposed.h"
#include "subscription.h"
#include "told_calls.h"

int InitializeInjection(void);

static struct vs_cupti_library library;
static atomic_flag is_begun = ATOMIC_FLAG_INIT;

/* What lies between a call of the program and our callback. */
static void hide_libraries(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	vs_told_calls_hide(&library);
	vs_told_calls_hide((const void *)(uintptr_t)library.subscribe);
	if (driver) {
		vs_told_calls_hide(vs_told_calls_look_up(driver, "cuInit"));
		dlclose(driver);
	}
}

static void begin(void)
{
	char why[256];

	if (!vs_told_calls_is_wanted())
		return;
	if (!vs_cupti_library_open(&library, why, sizeof(why))) {
		vs_told_calls_say(vs_told_calls_is_alone() ? "nothing is recorded: "
							   : "without CUPTI: ",
				  why);
		vs_told_calls_add_fact("cupti.events", "off: no CUPTI was found");
		return;
	}
	hide_libraries();
	(void)vs_subscription_begin(&library);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	int saved = errno;

	if (!atomic_flag_test_and_set(&is_begun))
		begin();
	errno = saved;
	return 1;
}

/* Before the recorder ends: that is what we depend on. */
__attribute__((destructor)) static void say_modules(void)
{
	uint64_t nr, size;
	char text[64];

	vs_callbacks_get_modules(&nr, &size);
	if (!nr)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " loaded, %" PRIu64 " bytes of code", nr, size);
	vs_told_calls_add_fact("cupti.modules", text);
}

__attribute__((constructor)) static void stand_in_front(void)
{
	int saved = errno;

	vs_cupti_interposed_begin();
	errno = saved;
}
