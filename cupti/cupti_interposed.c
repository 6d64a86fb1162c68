#include "cupti_interposed.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "pool_records.h"
#include "subscription.h"
#include "told_calls.h"

#define VS_API __attribute__((visibility("default")))

enum door {
	DOOR_SUBSCRIBE,
	DOOR_SUBSCRIBE_V2,
	DOOR_REGISTER,
	DOOR_FINALIZE,
	NR_DOORS
};

static const char *const names[NR_DOORS] = {
	[DOOR_SUBSCRIBE] = "cuptiSubscribe",
	[DOOR_SUBSCRIBE_V2] = "cuptiSubscribe_v2",
	[DOOR_REGISTER] = "cuptiActivityRegisterCallbacks",
	[DOOR_FINALIZE] = "cuptiFinalize",
};

/* The last one that somebody looked up; for those who were linked with CUPTI it is searched for. */
static void *_Atomic behind[NR_DOORS];

static void *get_behind(enum door door)
{
	void *function = atomic_load(&behind[door]);

	if (!function)
		function = dlsym(RTLD_NEXT, names[door]);
	if (!function)
		function = vs_cupti_library_find_loaded(names[door]);
	return function;
}

void vs_cupti_interposed_begin(void)
{
	static void *const ours[NR_DOORS] = {
		[DOOR_SUBSCRIBE] = (void *)cuptiSubscribe,
		[DOOR_SUBSCRIBE_V2] = (void *)cuptiSubscribe_v2,
		[DOOR_REGISTER] = (void *)cuptiActivityRegisterCallbacks,
		[DOOR_FINALIZE] = (void *)cuptiFinalize,
	};

	for (int i = 0; i < NR_DOORS; i++)
		vs_told_calls_replace(names[i], ours[i], &behind[i]);
}

VS_API CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
					   CUpti_CallbackFunc callback, void *userdata)
{
	__typeof__(&cuptiSubscribe) real = (__typeof__(&cuptiSubscribe))get_behind(DOOR_SUBSCRIBE);

	vs_subscription_hand_over("the program subscribes to CUPTI itself");
	return real ? real(subscriber, callback, userdata) : CUPTI_ERROR_NOT_INITIALIZED;
}

VS_API CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
					      CUpti_CallbackFunc callback, void *userdata,
					      CUpti_SubscriberParams *pParams)
{
	__typeof__(&cuptiSubscribe_v2) real =
		(__typeof__(&cuptiSubscribe_v2))get_behind(DOOR_SUBSCRIBE_V2);

	vs_subscription_hand_over("the program subscribes to CUPTI itself");
	return real ? real(subscriber, callback, userdata, pParams) : CUPTI_ERROR_NOT_INITIALIZED;
}

VS_API CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
			       CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	__typeof__(&cuptiActivityRegisterCallbacks) real =
		(__typeof__(&cuptiActivityRegisterCallbacks))get_behind(DOOR_REGISTER);

	vs_pool_records_yield();
	return real ? real(funcBufferRequested, funcBufferCompleted) : CUPTI_ERROR_NOT_INITIALIZED;
}

VS_API CUptiResult CUPTIAPI cuptiFinalize(void)
{
	__typeof__(&cuptiFinalize) real = (__typeof__(&cuptiFinalize))get_behind(DOOR_FINALIZE);

	vs_subscription_hand_over("the program ends CUPTI");
	return real ? real() : CUPTI_ERROR_NOT_INITIALIZED;
}
