#include "tool.h"

#include <dlfcn.h>
#include <pthread.h>

#include "../common/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct sg_calls_api *api; /* NULL: no softgpu here */
static struct sg_tool_driver driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned reasons; /* guarded by the lock */

static _Thread_local CUptiResult last_error;

typedef CUresult (*get_proc_address)(const char *, void **, int, cuuint64_t, int *);

static const struct plain {
	const char *name;
	void *slot; /* the member of driver */
} plain[] = {
	{"cuCtxGetCurrent", &driver.get_current},
	{"cuCtxPushCurrent_v2", &driver.push_current},
	{"cuCtxPopCurrent_v2", &driver.pop_current},
	{"cuCtxGetId", &driver.get_context_id},
	{"cuCtxGetDevice", &driver.get_device},
	{"cuStreamGetId", &driver.get_stream_id},
	{"cuStreamGetCtx", &driver.get_stream_context},
	{"cuPointerGetAttribute", &driver.get_pointer_attribute},
	{"cuMemPoolGetAttribute", &driver.get_pool_attribute},
	{"cuDeviceGetCount", &driver.count_devices},
};

static void open_driver(void)
{
	/* Never closed: calls are told until the process ends. */
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;
	get_proc_address look_up;
	int status;

	look_up = library ? (get_proc_address)dlsym(library, "cuGetProcAddress_v2") : NULL;
	if (!look_up || look_up("softgpuIdentify", &found, 0, 0, &status) || !found)
		return;
	found = NULL;
	if (look_up(SG_CALLS_NAME, &found, 0, 0, &status) || !found)
		return;
	for (size_t i = 0; i < SG_LENGTH(plain); i++) {
		void *function = ((const struct sg_calls_api *)found)->find_plain(plain[i].name);

		if (!function)
			return;
		*(void **)plain[i].slot = function;
	}
	api = found;
	driver.get_pool_device = api->get_pool_device;
}

const struct sg_tool_driver *sg_tool_link_get_driver(void)
{
	pthread_once(&once, open_driver);
	return api ? &driver : NULL;
}

CUptiResult sg_tool_link_set(enum sg_tool_reason reason, bool is_needed)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!sg_tool_link_get_driver())
		return is_needed ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_SUCCESS;
	pthread_mutex_lock(&lock);
	if (is_needed && !api->attach(&sg_tool_calls))
		result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	else if (is_needed)
		reasons |= 1u << reason;
	else
		reasons &= ~(1u << reason);
	if (!reasons)
		api->detach(&sg_tool_calls);
	pthread_mutex_unlock(&lock);
	return result;
}

CUptiResult sg_tool_link_return(CUptiResult result)
{
	if (result != CUPTI_SUCCESS)
		last_error = result;
	return result;
}

SG_API CUptiResult cuptiGetLastError(void)
{
	CUptiResult result = last_error;

	last_error = CUPTI_SUCCESS;
	return result;
}

int sg_tool_link_refuse(const char *name, int answer, _Atomic int *said)
{
	if (!atomic_exchange(said, 1))
		sg_log_part(SG_LOG_MISSING, "%s is not supported", name);
	return (int)sg_tool_link_return((CUptiResult)answer);
}
