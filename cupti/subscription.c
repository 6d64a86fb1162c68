#include "subscription.h"

#include <stdatomic.h>
#include <stdio.h>

#include "callbacks.h"
#include "pool_records.h"
#include "told_calls.h"

#define WHY_SIZE 256

/* Ours, while there is one; whoever takes it out gives it up. */
static _Atomic(CUpti_SubscriberHandle) subscriber;
static const struct vs_cupti_library *library; /* of the subscriber; written before it */

static void say_refused(const char *why)
{
	char fact[WHY_SIZE + 8];

	vs_told_calls_say(vs_told_calls_is_alone() ? "nothing is recorded: " : "without CUPTI: ",
			  why);
	snprintf(fact, sizeof(fact), "off: %s", why);
	vs_told_calls_add_fact("cupti.events", fact);
}

static void say_error(CUptiResult result)
{
	const char *text = NULL;
	char why[WHY_SIZE];

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		say_refused(
			"another tool has it in this program (nsys, torch.profiler, a debugger)");
		return;
	}
	if (library->get_result_text(result, &text) != CUPTI_SUCCESS || !text)
		text = "unknown";
	snprintf(why, sizeof(why), "%.120s refuses (%d, %.80s)", library->path, (int)result, text);
	say_refused(why);
}

static void add_facts(void)
{
	uint32_t number = 0;
	char version[32];

	if (library->get_version(&number) == CUPTI_SUCCESS) {
		snprintf(version, sizeof(version), "%u", number);
		vs_told_calls_add_fact("cupti.version", version);
	}
	vs_told_calls_add_fact("cupti.library", library->path);
}

bool vs_subscription_begin(const struct vs_cupti_library *from)
{
	CUpti_SubscriberHandle handle = NULL;
	CUptiResult result;

	library = from;
	/* Not const for CUPTI, which only hands it back. */
	result = library->subscribe(&handle, vs_callbacks_call, (void *)(uintptr_t)library);
	if (result != CUPTI_SUCCESS) {
		say_error(result);
		return false;
	}
	add_facts();
	(void)vs_callbacks_learn(library);
	atomic_store(&subscriber, handle);
	result = vs_callbacks_enable(library, handle);
	if (result != CUPTI_SUCCESS) {
		atomic_store(&subscriber, NULL);
		(void)library->unsubscribe(handle);
		say_error(result);
		return false;
	}
	vs_told_calls_add_fact("cupti.events",
			       vs_told_calls_is_alone() ? "recorded, hooks off" : "recorded");
	vs_pool_records_begin(library);
	return true;
}

void vs_subscription_hand_over(const char *why)
{
	CUpti_SubscriberHandle handle = atomic_exchange(&subscriber, NULL);

	if (!handle)
		return;
	vs_pool_records_end(library);
	(void)library->unsubscribe(handle);
	vs_told_calls_say(why, vs_told_calls_is_alone()
				       ? ": no call of CUDA is recorded from here on"
				       : ": calls past the hooks are not seen from here on");
	vs_told_calls_add_fact("cupti.ended", why);
}
