/*
 * Which context a runtime call works in: the driver context that is current on the thread, else
 * the primary context of the thread's device, which the runtime retains once per process and
 * makes current.
 */
#include "runtime.h"

#include <pthread.h>

#define MAX_DEVICES 64 /* more than any driver reports */

/*
 * generation counts the resets of a device. A thread that had its primary context current when
 * another thread reset the device sees an old generation and retains the context anew.
 */
struct device_state {
	CUcontext primary; /* NULL while not retained; lock */
	_Atomic unsigned generation;
};

struct thread_state {
	int device;         /* by cudaSetDevice */
	CUcontext current;  /* what we made current, NULL before that */
	int current_device; /* of current */
	unsigned generation;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device_state devices[MAX_DEVICES];
static _Thread_local struct thread_state self;

static cudaError_t check_device(int device)
{
	cudaError_t error;
	int count = 0;

	error = sg_rt_load_driver();
	if (error)
		return error;
	error = sg_rt_error_from(sg_rt_driver.cuDeviceGetCount_v2000(&count));
	if (error)
		return error;
	if (device < 0 || device >= count || device >= MAX_DEVICES)
		return cudaErrorInvalidDevice;
	return cudaSuccess;
}

cudaError_t sg_rt_context_primary(int device, CUcontext *context)
{
	cudaError_t error = check_device(device);

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	if (!devices[device].primary)
		error = SG_DRIVER(cuDevicePrimaryCtxRetain_v7000, &devices[device].primary, device);
	*context = devices[device].primary;
	pthread_mutex_unlock(&lock);
	return error;
}

/* Make the primary context of a device current on this thread. */
static cudaError_t enter_primary(int device)
{
	CUcontext context;
	unsigned generation = 0;
	cudaError_t error;

	if (device >= 0 && device < MAX_DEVICES)
		generation = devices[device].generation;
	error = sg_rt_context_primary(device, &context);
	if (error)
		return error;
	error = sg_rt_error_from(sg_rt_driver.cuCtxSetCurrent_v4000(context));
	if (error)
		return error;
	self.current = context;
	self.current_device = device;
	self.generation = generation;
	return cudaSuccess;
}

cudaError_t sg_rt_context_enter(void)
{
	CUcontext context = NULL;
	cudaError_t error = sg_rt_load_driver();

	if (error)
		return error;
	error = sg_rt_error_from(sg_rt_driver.cuCtxGetCurrent_v4000(&context));
	if (error)
		return error;
	if (!context)
		return enter_primary(self.device);
	if (context == self.current && self.generation != devices[self.current_device].generation)
		return enter_primary(self.current_device);
	return cudaSuccess;
}

cudaError_t sg_rt_context_device(int *device)
{
	CUcontext context = NULL;
	cudaError_t error = sg_rt_load_driver();

	if (error)
		return error;
	error = sg_rt_error_from(sg_rt_driver.cuCtxGetCurrent_v4000(&context));
	if (error)
		return error;
	if (!context) {
		*device = self.device;
		return cudaSuccess;
	}
	return sg_rt_error_from(sg_rt_driver.cuCtxGetDevice_v2000(device));
}

static cudaError_t get_device(int *device)
{
	return device ? sg_rt_context_device(device) : cudaErrorInvalidValue;
}

static cudaError_t set_device(int device)
{
	cudaError_t error = check_device(device);

	if (error)
		return error;
	error = enter_primary(device);
	if (!error)
		self.device = device;
	return error;
}

/* Reset the primary context and give back our reference, which a reset leaves; lock held. */
static cudaError_t reset_primary(int device)
{
	struct device_state *state = &devices[device];
	cudaError_t error = SG_DRIVER(cuDevicePrimaryCtxReset_v7000, device);

	if (!error && state->primary) {
		error = SG_DRIVER(cuDevicePrimaryCtxRelease_v7000, device);
		state->primary = NULL;
	}
	if (!error)
		state->generation++;
	return error;
}

static cudaError_t reset_device(void)
{
	CUcontext current = NULL, primary;
	cudaError_t error;
	int device;

	error = sg_rt_context_device(&device);
	if (!error)
		error = check_device(device);
	if (!error)
		error = SG_DRIVER(cuCtxGetCurrent_v4000, &current);
	if (error)
		return error;
	pthread_mutex_lock(&lock);
	primary = devices[device].primary;
	error = reset_primary(device);
	pthread_mutex_unlock(&lock);
	/* Nothing is current then, and the thread stays on its device. */
	if (!error && current && current == primary) {
		self.current = NULL;
		self.device = device;
		error = SG_DRIVER(cuCtxSetCurrent_v4000, NULL);
	}
	return error;
}

static bool flags_are_valid(unsigned flags)
{
	unsigned schedule = flags & cudaDeviceScheduleMask;

	/* At most one way to wait. */
	return !(flags & ~(unsigned)cudaDeviceMask) && !(schedule & (schedule - 1));
}

static cudaError_t init_device(int device, unsigned device_flags, unsigned flags)
{
	CUcontext context;
	cudaError_t error = check_device(device);

	if (error)
		return error;
	if (flags & ~(unsigned)cudaInitDeviceFlagsAreValid || !flags_are_valid(device_flags))
		return cudaErrorInvalidValue;
	if (flags & cudaInitDeviceFlagsAreValid) {
		error = SG_DRIVER(cuDevicePrimaryCtxSetFlags_v11000, device, device_flags);
		if (error)
			return error;
	}
	return sg_rt_context_primary(device, &context);
}

static cudaError_t set_flags(unsigned flags)
{
	cudaError_t error;
	int device;

	if (!flags_are_valid(flags))
		return cudaErrorInvalidValue;
	error = sg_rt_context_device(&device);
	return error ? error : SG_DRIVER(cuDevicePrimaryCtxSetFlags_v11000, device, flags);
}

static cudaError_t get_flags(unsigned *flags)
{
	CUcontext context = NULL;
	cudaError_t error;
	int active;

	if (!flags)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuCtxGetCurrent_v4000, &context);
	if (error)
		return error;
	if (context)
		return SG_DRIVER(cuCtxGetFlags_v7000, flags);
	return SG_DRIVER(cuDevicePrimaryCtxGetState_v7000, self.device, flags, &active);
}

/* The list only matters while no device is chosen: its first entry becomes the thread's device. */
static cudaError_t set_valid_devices(const int *list, int length)
{
	cudaError_t error;
	int i;

	if (length < 0 || (length && !list))
		return cudaErrorInvalidValue;
	for (i = 0; i < length; i++) {
		error = check_device(list[i]);
		if (error)
			return error;
	}
	self.device = length ? list[0] : 0;
	return cudaSuccess;
}

SG_API cudaError_t cudaSetDevice(int device)
{
	return SG_LOADED(set_device(device));
}

SG_API cudaError_t cudaGetDevice(int *device)
{
	return SG_LOADED(get_device(device));
}

SG_API cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	return SG_LOADED(init_device(device, deviceFlags, flags));
}

SG_API cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
	return SG_LOADED(set_valid_devices(device_arr, len));
}

SG_API cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	return SG_LOADED(set_flags(flags));
}

SG_API cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	return SG_LOADED(get_flags(flags));
}

SG_API cudaError_t cudaDeviceReset(void)
{
	return SG_LOADED(reset_device());
}

SG_API cudaError_t cudaDeviceSynchronize(void)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuCtxSynchronize_v2000));
}

SG_API cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuCtxResetPersistingL2Cache_v11000));
}
