#include "tool.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* More numbers than any domain has. */
#define MAX_IDS 2048
/* Handles are used in turn, so that an old one stays wrong for long. */
#define NR_HANDLES 64
#define MAX_NAME   64

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *userdata;
	uint32_t period; /* counts subscriptions; never 0 */
	char name[MAX_NAME];
};

/* Guards subscribing and unsubscribing. Never held while a callback runs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_Subscriber_st handles[NR_HANDLES];
static uint32_t nr_periods;

/*
 * Whoever calls back first counts itself in and then looks who is subscribed; whoever unsubscribes
 * first takes that away and then waits until the others are out. Both in one order for all.
 */
static _Atomic(struct CUpti_Subscriber_st *) current;
static _Atomic unsigned nr_running;
static _Thread_local unsigned depth; /* callbacks that this thread is inside */

static _Atomic unsigned char enabled[CUPTI_CB_DOMAIN_SIZE][MAX_IDS];
_Static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE <= MAX_IDS && CUPTI_RUNTIME_TRACE_CBID_SIZE <= MAX_IDS,
	       "room for every number");

bool sg_tool_subscriber_is_inside(void)
{
	return depth > 0;
}

bool sg_tool_subscriber_wants(CUpti_CallbackDomain domain, uint32_t cbid)
{
	return atomic_load_explicit(&enabled[domain][cbid], memory_order_relaxed) &&
	       atomic_load_explicit(&current, memory_order_relaxed);
}

bool sg_tool_subscriber_tell(uint32_t *period, CUpti_CallbackDomain domain, uint32_t cbid,
			     const void *data)
{
	struct CUpti_Subscriber_st *subscriber;
	bool is_wanted;

	if (!sg_tool_subscriber_wants(domain, cbid))
		return false;
	atomic_fetch_add(&nr_running, 1);
	depth++;
	subscriber = atomic_load(&current);
	/* One without a function only keeps others out. And it may be another one than the one who
	 * wanted this a moment ago: it would be told of a beginning, and then not of the end. */
	is_wanted = subscriber && subscriber->callback &&
		    atomic_load_explicit(&enabled[domain][cbid], memory_order_relaxed) &&
		    (!*period || *period == subscriber->period);
	if (is_wanted) {
		*period = subscriber->period;
		subscriber->callback(subscriber->userdata, domain, cbid, data);
	}
	depth--;
	atomic_fetch_sub(&nr_running, 1);
	return is_wanted;
}

static void disable_all(void)
{
	for (int domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		for (uint32_t cbid = 0; cbid < MAX_IDS; cbid++)
			atomic_store_explicit(&enabled[domain][cbid], 0, memory_order_relaxed);
}

/* Lock held. */
static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
			     void *userdata, const char *name)
{
	struct CUpti_Subscriber_st *subscriber = &handles[nr_periods % NR_HANDLES];
	CUptiResult result;

	if (atomic_load(&current))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	result = sg_tool_link_set(SG_TOOL_SUBSCRIBER, true);
	if (result != CUPTI_SUCCESS)
		return result;
	*subscriber = (struct CUpti_Subscriber_st){callback, userdata, ++nr_periods, ""};
	snprintf(subscriber->name, sizeof(subscriber->name), "%s", name ? name : "");
	disable_all();
	atomic_store(&current, subscriber);
	*handle = subscriber;
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
				  void *userdata)
{
	CUptiResult result;

	if (!subscriber)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	result = subscribe(subscriber, callback, userdata, NULL);
	pthread_mutex_unlock(&lock);
	return sg_tool_link_return(result);
}

#ifdef CUpti_SubscriberParams_STRUCT_SIZE
SG_API CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
				     CUpti_CallbackFunc callback, void *userdata,
				     CUpti_SubscriberParams *pParams)
{
	struct CUpti_Subscriber_st *old;
	CUptiResult result;

	if (!subscriber || (pParams && pParams->structSize < CUpti_SubscriberParams_STRUCT_SIZE))
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	result =
		subscribe(subscriber, callback, userdata, pParams ? pParams->subscriberName : NULL);
	old = atomic_load(&current);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && pParams &&
	    pParams->oldSubscriberName && pParams->oldSubscriberSize)
		snprintf(pParams->oldSubscriberName, pParams->oldSubscriberSize, "%s",
			 old ? old->name : "");
	pthread_mutex_unlock(&lock);
	return sg_tool_link_return(result);
}
#endif

/* Afterwards no callback runs, but those that this thread is inside itself. */
static bool unsubscribe(CUpti_SubscriberHandle subscriber)
{
	struct CUpti_Subscriber_st *expected = subscriber;

	pthread_mutex_lock(&lock);
	if (!subscriber || !atomic_compare_exchange_strong(&current, &expected, NULL)) {
		pthread_mutex_unlock(&lock);
		return false;
	}
	(void)sg_tool_link_set(SG_TOOL_SUBSCRIBER, false);
	pthread_mutex_unlock(&lock);
	while (atomic_load(&nr_running) > depth)
		sched_yield();
	return true;
}

SG_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	return sg_tool_link_return(unsubscribe(subscriber) ? CUPTI_SUCCESS
							   : CUPTI_ERROR_INVALID_PARAMETER);
}

void sg_tool_subscriber_drop(void)
{
	unsubscribe(atomic_load(&current));
}

static bool is_valid(CUpti_SubscriberHandle subscriber)
{
	return subscriber && subscriber == atomic_load(&current);
}

static void enable(CUpti_CallbackDomain domain, uint32_t cbid, uint32_t is_on)
{
	atomic_store_explicit(&enabled[domain][cbid], is_on != 0, memory_order_relaxed);
}

SG_API CUptiResult cuptiEnableCallback(uint32_t is_on, CUpti_SubscriberHandle subscriber,
				       CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!is_valid(subscriber) || cbid == 0 || cbid >= sg_tool_table_get_size(domain))
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	enable(domain, cbid, is_on);
	return CUPTI_SUCCESS;
}

static void enable_domain(CUpti_CallbackDomain domain, uint32_t is_on)
{
	for (uint32_t cbid = 1; cbid < sg_tool_table_get_size(domain); cbid++)
		enable(domain, cbid, is_on);
}

SG_API CUptiResult cuptiEnableDomain(uint32_t is_on, CUpti_SubscriberHandle subscriber,
				     CUpti_CallbackDomain domain)
{
	if (!is_valid(subscriber) || !sg_tool_table_get_size(domain))
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	enable_domain(domain, is_on);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiEnableAllDomains(uint32_t is_on, CUpti_SubscriberHandle subscriber)
{
	if (!is_valid(subscriber))
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		enable_domain((CUpti_CallbackDomain)domain, is_on);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiGetCallbackState(uint32_t *is_on, CUpti_SubscriberHandle subscriber,
					 CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!is_on || !is_valid(subscriber) || cbid == 0 || cbid >= sg_tool_table_get_size(domain))
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*is_on = atomic_load_explicit(&enabled[domain][cbid], memory_order_relaxed);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable)
{
	/* Not const: the type of the table is not. */
	static CUpti_CallbackDomain domains[] = {
		CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,
	};

	if (!domainCount || !domainTable)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*domainCount = SG_LENGTH(domains);
	*domainTable = domains;
	return CUPTI_SUCCESS;
}
