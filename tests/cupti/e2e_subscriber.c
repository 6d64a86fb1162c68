/*
 * A program that uses CUPTI itself, as a profiler in a framework does.
 *
 *	e2e_subscriber HOW WHEN [finalize]
 *
 * HOW   linked: calls cuptiSubscribe as a program linked with CUPTI does; looked-up: by dlsym
 * WHEN  first: before CUDA is used; later: after some memory
 *
 * Allocates 10 times before it ("later") and 10 times after it, and prints what it was told itself.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "sample.h"

static unsigned nr_told;

static void count(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		  const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)userdata;
	(void)cbid;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && call->callbackSite == CUPTI_API_ENTER)
		nr_told++;
}

static void allocate(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		void *memory;

		CHECK(cudaMalloc(&memory, MIB));
		CHECK(cudaFree(memory));
	}
}

static void *look_up(const char *name)
{
	static void *library;

	if (!library)
		library = dlopen("libcupti.so.13", RTLD_NOW);
	return library ? dlsym(library, name) : NULL;
}

static int subscribe(int is_linked)
{
	__typeof__(&cuptiSubscribe) function =
		is_linked ? cuptiSubscribe : (__typeof__(&cuptiSubscribe))look_up("cuptiSubscribe");
	CUpti_SubscriberHandle subscriber;
	CUptiResult result;

	if (!function)
		return -1;
	result = function(&subscriber, count, NULL);
	if (result == CUPTI_SUCCESS)
		result = cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					     CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
	return (int)result;
}

int main(int argc, char **argv)
{
	int is_linked, is_first, result;

	if (argc < 3)
		return 2;
	is_linked = !strcmp(argv[1], "linked");
	is_first = !strcmp(argv[2], "first");
	if (!is_first)
		allocate(10);
	if (argc > 3)
		result = (int)cuptiFinalize();
	else
		result = subscribe(is_linked);
	allocate(10);
	printf("result=%d told=%u\n", result, nr_told);
	return 0;
}
