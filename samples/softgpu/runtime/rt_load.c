/* Finding the driver: one dlopen, one dlsym, everything else through cuGetProcAddress. */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>

#include "../common/log.h"
#include "rt_calls.h"

struct sg_rt_driver sg_rt_driver;

static pthread_once_t opened = PTHREAD_ONCE_INIT, started = PTHREAD_ONCE_INIT;
static SG_RT_PROC_ADDRESS get_proc_address;
static cudaError_t open_outcome, outcome;

struct lookup {
	const char *name;
	int version;
	cuuint64_t flags;
	void *slot; /* the member of sg_rt_driver */
};

static const struct lookup lookups[] = {
#define SG_ASKED(condition) (condition)
#define SG_DRIVER_CALL(name, version) \
	{#name, version, CU_GET_PROC_ADDRESS_DEFAULT, &sg_rt_driver.name##_v##version},
#define SG_DRIVER_TWIN(name, version, suffix)                           \
	{#name, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, \
	 &sg_rt_driver.name##_v##version##_##suffix},
#include "driver_api.def"
#undef SG_ASKED
#undef SG_DRIVER_CALL
#undef SG_DRIVER_TWIN
};

CUresult sg_rt_load_symbol(const char *name, void **function, int version, cuuint64_t flags,
			   CUdriverProcAddressQueryResult *status)
{
#if CUDART_VERSION >= 12000
	return get_proc_address(name, function, version, flags, status);
#else
	CUresult result = get_proc_address(name, function, version, flags);

	if (status)
		*status = result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS
						 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return result;
#endif
}

/* A name the driver lacks leaves its slot NULL: calls that need it then say so. */
static void look_up_all(void)
{
	CUdriverProcAddressQueryResult status;
	void *function;
	size_t i;

	/* As NVIDIA's opens; a hook that chokes on an empty name must find out here. */
	(void)sg_rt_load_symbol(SG_RT_FIRST_QUESTION, &function, SG_RT_FIRST_VERSION, 0, &status);
	for (i = 0; i < sizeof(lookups) / sizeof(lookups[0]); i++) {
		function = NULL;
		if (sg_rt_load_symbol(lookups[i].name, &function, lookups[i].version,
				      lookups[i].flags, &status) == CUDA_SUCCESS)
			*(void **)lookups[i].slot = function;
	}
}

/* softgpu hands out its name through its public door; no other driver knows the question. */
static bool driver_is_softgpu(void)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;

	return sg_rt_load_symbol("softgpuIdentify", &function, 0, 0, &status) == CUDA_SUCCESS &&
	       function;
}

static bool essentials_present(void)
{
	return sg_rt_driver.cuInit_v2000 && sg_rt_driver.cuDriverGetVersion_v2020 &&
	       sg_rt_driver.cuDeviceGetCount_v2000 && sg_rt_driver.cuDeviceGetAttribute_v2000 &&
	       sg_rt_driver.cuDevicePrimaryCtxRetain_v7000 && sg_rt_driver.cuCtxGetCurrent_v4000 &&
	       sg_rt_driver.cuCtxSetCurrent_v4000 && sg_rt_driver.cuCtxGetDevice_v2000;
}

static cudaError_t find_driver(void)
{
	void *library;

	/* Never closed: the pointers are used until the last exit handler has run. */
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		return cudaErrorInsufficientDriver;
	get_proc_address = (SG_RT_PROC_ADDRESS)dlsym(library, SG_RT_PROC_ADDRESS_NAME);
	if (!get_proc_address)
		return cudaErrorInsufficientDriver;
	if (!driver_is_softgpu()) {
		sg_log_say(
			"the softgpu runtime works with the softgpu driver only; the libcuda.so.1 "
			"found here is another one");
		return cudaErrorInsufficientDriver;
	}
	sg_rt_calls_join();
	look_up_all();
	return essentials_present() ? cudaSuccess : cudaErrorInsufficientDriver;
}

static void open_driver(void)
{
	open_outcome = find_driver();
	/* Without a driver there is nobody to tell of calls. */
	if (open_outcome)
		atomic_store_explicit(&sg_rt_calls_domain.tool, NULL, memory_order_relaxed);
}

cudaError_t sg_rt_load_library(void)
{
	pthread_once(&opened, open_driver);
	return open_outcome;
}

static cudaError_t start_driver(void)
{
	cudaError_t error = sg_rt_load_library();
	int version = 0;

	if (error)
		return error;
	if (sg_rt_driver.cuDriverGetVersion_v2020(&version) != CUDA_SUCCESS ||
	    version / 1000 < CUDART_VERSION / 1000)
		return cudaErrorInsufficientDriver;
	return sg_rt_error_from(sg_rt_driver.cuInit_v2000(0));
}

static void load(void)
{
	outcome = start_driver();
}

cudaError_t sg_rt_load_driver(void)
{
	pthread_once(&started, load);
	return outcome;
}
