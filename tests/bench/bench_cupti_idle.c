/*
 * A tool that CUDA_INJECTION64_PATH names: asks CUPTI for what --cupti asks for, and does nothing
 * with it. What CUPTI itself costs.
 */
#include "callback_numbers.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);

static const uint32_t wanted[] = {
#define VS_HOOK(name, abi, symbol) CUPTI_DRIVER_TRACE_CBID_##symbol,
#include "cuda_api.def"
};

static void do_nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		       const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
}

int InitializeInjection(void)
{
	CUpti_SubscriberHandle subscriber;

	if (cuptiSubscribe(&subscriber, do_nothing, NULL) != CUPTI_SUCCESS)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		(void)cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, wanted[i]);
	return 1;
}
