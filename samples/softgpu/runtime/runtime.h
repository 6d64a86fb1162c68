#ifndef SG_RUNTIME_H
#define SG_RUNTIME_H

/*
 * What the files of the runtime (libcudart.so.11.0, .12, .13 and libcudart_softgpu.a) share.
 *
 * The runtime is written against the public driver API alone. Every call goes through the same
 * steps: the driver is loaded (once per process), a context is current (rt_context.c), the driver
 * is called, and a failure becomes the thread's last error (rt_error.c). Any thread may call any
 * function declared here unless its comment says otherwise.
 *
 * One source serves several CUDA releases. It is written for the headers of 13; release.h is the
 * place for what differs in others, and says how.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prototypes of all ABI versions: NVIDIA's runtime asks for old ones too, and so do we. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "release.h"

#define SG_API __attribute__((visibility("default")))

/* Internal functions stay inside the library, whatever flags it is compiled with. */
#pragma GCC visibility push(hidden)

/*
 * The driver's functions; NULL where the driver lacks one, or a runtime of this release does not
 * ask for it. Filled once, before anyone reads it.
 */
struct sg_rt_driver {
#define SG_ASKED(condition)           1
#define SG_DRIVER_CALL(name, version) PFN_##name##_v##version name##_v##version;
#define SG_DRIVER_TWIN(name, version, suffix) \
	PFN_##name##_v##version##_##suffix name##_v##version##_##suffix;
#include "driver_api.def"
#undef SG_ASKED
#undef SG_DRIVER_CALL
#undef SG_DRIVER_TWIN
};

extern struct sg_rt_driver sg_rt_driver;

/* Call a driver function that may be missing; the value is a cudaError_t. */
#define SG_DRIVER(function, ...)                                                      \
	(sg_rt_driver.function ? sg_rt_error_from(sg_rt_driver.function(__VA_ARGS__)) \
			       : cudaErrorCallRequiresNewerDriver)

/*
 * The body of most API functions: evaluate an expression of type cudaError_t only after the driver
 * is loaded (SG_LOADED) or also a context is current (SG_IN_CONTEXT), and remember a failure.
 */
#define SG_LOADED(expression)                                          \
	__extension__({                                                \
		cudaError_t sg_error_ = sg_rt_load_driver();           \
		sg_rt_error_set(sg_error_ ? sg_error_ : (expression)); \
	})
#define SG_IN_CONTEXT(expression)                                      \
	__extension__({                                                \
		cudaError_t sg_error_ = sg_rt_context_enter();         \
		sg_rt_error_set(sg_error_ ? sg_error_ : (expression)); \
	})

/* rt_load.c */

/* Find the driver and initialise it, once; afterwards the outcome of that. */
cudaError_t sg_rt_load_driver(void);
/* The first half of that: find it and its functions, and leave it as it is. */
cudaError_t sg_rt_load_library(void);
/* cuGetProcAddress of the loaded driver. */
CUresult sg_rt_load_symbol(const char *name, void **function, int version, cuuint64_t flags,
			   CUdriverProcAddressQueryResult *status);

/* rt_error.c */

/* Remember a failure as the thread's last error; returns its argument. */
cudaError_t sg_rt_error_set(cudaError_t error);
/* The runtime's code for a driver result. */
cudaError_t sg_rt_error_from(CUresult result);
/* What a name nobody has written yet answers; says the name the first time, guarded by *said. */
cudaError_t sg_rt_error_unsupported(const char *name, int *said);

/* rt_context.c */

/* Load the driver and see to it that a context is current on this thread. */
cudaError_t sg_rt_context_enter(void);
/* The device of the current context, or the thread's device when there is none. */
cudaError_t sg_rt_context_device(int *device);
/* The primary context of a device, retained by the runtime once per process. */
cudaError_t sg_rt_context_primary(int device, CUcontext *context);

/* rt_registry.c: what nvcc's code registers before main(). No driver is needed for any of it. */

enum sg_rt_kind {
	SG_RT_KERNEL,
	SG_RT_VARIABLE,
	SG_RT_MANAGED,
};

struct sg_rt_fatbin;

/* Names belong to the program; they live as long as its fat binary is registered. */
struct sg_rt_entry {
	const void *host; /* the key: host stub, host shadow variable, or address of a pointer */
	const char *name; /* mangled device name */
	struct sg_rt_fatbin *fatbin;
	struct sg_rt_entry *hash_next;
	size_t size;            /* of a variable */
	_Atomic(void *) handle; /* CUkernel, or the managed allocation; NULL until first used */
	enum sg_rt_kind kind;
	bool constant; /* a __constant__ variable */
};

struct sg_rt_fatbin *sg_rt_registry_add_fatbin(const void *wrapper);
/* NULL when there is no memory; the symbol is then unknown later, which is reported there. */
struct sg_rt_entry *sg_rt_registry_add(struct sg_rt_fatbin *fatbin, enum sg_rt_kind kind,
				       const void *host, const char *name, size_t size,
				       bool constant);
/* The entry registered last for that address, or NULL. */
struct sg_rt_entry *sg_rt_registry_find(enum sg_rt_kind kind, const void *host);
/* The kernel that got this handle, or NULL: looks through all of them. */
struct sg_rt_entry *sg_rt_registry_find_handle(const void *handle);
/* Calls visit for each entry of a fat binary in order of registration; stops when it says false. */
void sg_rt_registry_visit(struct sg_rt_fatbin *fatbin,
			  bool (*visit)(struct sg_rt_entry *entry, void *data), void *data);
/* Forget a fat binary and its entries. *library becomes its loaded library or NULL. */
bool sg_rt_registry_remove_fatbin(struct sg_rt_fatbin *fatbin, CUlibrary *library);
const void *sg_rt_registry_wrapper(const struct sg_rt_fatbin *fatbin);
/* The library of a fat binary; load makes it, called at most once at a time and until it succeeds.
 */
cudaError_t sg_rt_registry_library(struct sg_rt_fatbin *fatbin,
				   cudaError_t (*load)(struct sg_rt_fatbin *fatbin,
						       CUlibrary *library),
				   CUlibrary *library);
size_t sg_rt_registry_count(void);

/* rt_module.c: from registered names to the driver's handles */

/* The CUkernel of a host function, or of a pointer that is itself a kernel handle. */
cudaError_t sg_rt_module_kernel(const void *function, CUkernel *kernel);
/* Address and size of a variable in the current context. */
cudaError_t sg_rt_module_variable(const void *symbol, CUdeviceptr *address, size_t *size);

/* rt_reference.c: 11 only */

/* Forget the texture and surface references that were registered with a fat binary. */
void sg_rt_reference_forget(void **handle);

/* rt_device.c */

/* cudaErrorInvalidConfiguration unless the current device can run such a grid. */
cudaError_t sg_rt_device_check_launch(dim3 grid, dim3 block);

#pragma GCC visibility pop

/* What crt/host_runtime.h and crt/device_functions.h declare for C++ only, and what none does. */
void **__cudaRegisterFatBinary(void *fat_cubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
			    int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t size, int constant, int global);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_size,
				     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_size, void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared_size, cudaStream_t stream);

#endif
