/* A tool that CUDA_INJECTION64_PATH names: subscribes when it is started, counts what it is told.
 */
#include <cupti.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);
EXPORT extern unsigned injected_counts[CUPTI_DRIVER_TRACE_CBID_SIZE];
EXPORT extern unsigned injected_runtime_counts[CUPTI_RUNTIME_TRACE_CBID_SIZE];

/* Beginnings of calls, by number. */
unsigned injected_counts[CUPTI_DRIVER_TRACE_CBID_SIZE];
unsigned injected_runtime_counts[CUPTI_RUNTIME_TRACE_CBID_SIZE];

static void count(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		  const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)userdata;
	if (call->callbackSite != CUPTI_API_ENTER)
		return;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		injected_counts[cbid]++;
	else
		injected_runtime_counts[cbid]++;
}

int InitializeInjection(void)
{
	CUpti_SubscriberHandle subscriber;

	return cuptiSubscribe(&subscriber, count, NULL) == CUPTI_SUCCESS &&
	       cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS &&
	       cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS;
}
