/*
 * From registered names to the driver's handles. A fat binary becomes a driver library at the
 * first use of one of its kernels or variables. Library and kernel handles belong to no context,
 * so a device reset leaves them valid; addresses of variables belong to one and are asked for
 * each time.
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

#include "rt_fatbin.h"
#include "rt_image.h"

struct symbol_list {
	struct sg_rt_image_symbol *symbols;
	size_t nr_symbols, room;
	bool failed;
};

static enum sg_rt_image_kind image_kind(const struct sg_rt_entry *entry)
{
	switch (entry->kind) {
	case SG_RT_KERNEL:
		return SG_RT_IMAGE_KERNEL;
	case SG_RT_MANAGED:
		return SG_RT_IMAGE_MANAGED;
	default:
		return entry->constant ? SG_RT_IMAGE_CONSTANT : SG_RT_IMAGE_VARIABLE;
	}
}

static bool add_symbol(struct sg_rt_entry *entry, void *data)
{
	struct symbol_list *list = data;

	if (list->nr_symbols == list->room) {
		size_t room = list->room ? list->room * 2 : 64;
		void *bigger = reallocarray(list->symbols, room, sizeof(*list->symbols));

		if (!bigger) {
			list->failed = true;
			return false;
		}
		list->symbols = bigger;
		list->room = room;
	}
	list->symbols[list->nr_symbols++] = (struct sg_rt_image_symbol){
		.name = entry->name,
		.kind = image_kind(entry),
		.size = entry->size,
	};
	return true;
}

static cudaError_t device_arch(unsigned *arch)
{
	int device, major = 0, minor = 0;
	cudaError_t error = sg_rt_context_device(&device);

	if (!error)
		error = SG_DRIVER(cuDeviceGetAttribute_v2000, &major,
				  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	if (!error)
		error = SG_DRIVER(cuDeviceGetAttribute_v2000, &minor,
				  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	*arch = (unsigned)(major * 10 + minor);
	return error;
}

static cudaError_t load_image(const struct symbol_list *list, const struct sg_rt_image_code *code,
			      CUlibrary *library)
{
	size_t size;
	void *image = sg_rt_image_build(list->symbols, list->nr_symbols, code, &size);
	cudaError_t error;

	if (!image)
		return cudaErrorMemoryAllocation;
	/* Without CU_LIBRARY_BINARY_IS_PRESERVED the driver keeps no pointer into the image. */
	error = SG_DRIVER(cuLibraryLoadData_v12000, library, image, NULL, NULL, 0, NULL, NULL, 0);
	free(image);
	return error;
}

static cudaError_t load_fatbin(struct sg_rt_fatbin *fatbin, CUlibrary *library)
{
	struct sg_rt_fatbin_choice choice = {0};
	struct symbol_list list = {0};
	struct sg_rt_image_code code;
	cudaError_t error;
	unsigned arch;

	error = device_arch(&arch);
	if (error)
		return error;
	choice.arch = arch; /* unreadable: as if made for the device */
	choice.ptx_arch = arch;
	if (sg_rt_fatbin_choose(sg_rt_registry_wrapper(fatbin), arch, &choice) ==
	    SG_RT_FATBIN_NO_IMAGE)
		return cudaErrorNoKernelImageForDevice;
	sg_rt_registry_visit(fatbin, add_symbol, &list);
	if (list.failed) {
		error = cudaErrorMemoryAllocation;
		goto free_symbols;
	}
	if (choice.cubin)
		sg_rt_image_find_values(list.symbols, list.nr_symbols, choice.cubin,
					choice.cubin_size);
	code = (struct sg_rt_image_code){choice.arch, choice.ptx_arch, choice.cubin,
					 choice.cubin_size};
	error = load_image(&list, &code, library);
free_symbols:
	free(list.symbols);
	return error;
}

/* The driver's word for "no such name in this library" is not the runtime's. */
static cudaError_t not_found_is(cudaError_t error, cudaError_t meaning)
{
	return error == cudaErrorSymbolNotFound ? meaning : error;
}

static cudaError_t kernel_of(struct sg_rt_entry *entry, CUkernel *kernel)
{
	CUlibrary library;
	cudaError_t error;

	*kernel = entry->handle;
	if (*kernel)
		return cudaSuccess;
	error = sg_rt_registry_library(entry->fatbin, load_fatbin, &library);
	if (!error)
		error = SG_DRIVER(cuLibraryGetKernel_v12000, kernel, library, entry->name);
	if (error)
		return not_found_is(error, cudaErrorInvalidDeviceFunction);
	entry->handle = *kernel; /* two threads may both get here, with the same handle */
	return cudaSuccess;
}

cudaError_t sg_rt_module_kernel(const void *function, CUkernel *kernel)
{
	struct sg_rt_entry *entry;
	const char *name;

	if (!function)
		return cudaErrorInvalidDeviceFunction;
	entry = sg_rt_registry_find(SG_RT_KERNEL, function);
	if (entry)
		return kernel_of(entry, kernel);
	/* Handles from cudaGetKernel and cudaLibraryGetKernel may stand for functions. */
	*kernel = (CUkernel)function;
	if (SG_DRIVER(cuKernelGetName_v12030, &name, *kernel))
		return cudaErrorInvalidDeviceFunction;
	return cudaSuccess;
}

static cudaError_t managed_of(struct sg_rt_entry *entry, CUdeviceptr *address, size_t *size)
{
	CUlibrary library;
	cudaError_t error;

	error = sg_rt_registry_library(entry->fatbin, load_fatbin, &library);
	if (!error)
		error = SG_DRIVER(cuLibraryGetManaged_v12000, address, size, library, entry->name);
	return not_found_is(error, cudaErrorInvalidSymbol);
}

cudaError_t sg_rt_module_variable(const void *symbol, CUdeviceptr *address, size_t *size)
{
	struct sg_rt_entry *entry;
	CUlibrary library;
	cudaError_t error;

	if (!symbol)
		return cudaErrorInvalidSymbol;
	entry = sg_rt_registry_find(SG_RT_MANAGED, symbol);
	if (entry)
		return managed_of(entry, address, size);
	entry = sg_rt_registry_find(SG_RT_VARIABLE, symbol);
	if (!entry)
		return cudaErrorInvalidSymbol;
	error = sg_rt_registry_library(entry->fatbin, load_fatbin, &library);
	if (!error)
		error = SG_DRIVER(cuLibraryGetGlobal_v12000, address, size, library, entry->name);
	return not_found_is(error, cudaErrorInvalidSymbol);
}

/* What nvcc's code calls at load time. Nothing here needs the driver but __cudaInitModule. */

SG_API void **__cudaRegisterFatBinary(void *fat_cubin)
{
	return (void **)sg_rt_registry_add_fatbin(fat_cubin);
}

SG_API void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle; /* loading is lazy, there is nothing to finish */
}

SG_API void __cudaUnregisterFatBinary(void **handle)
{
	CUlibrary library = NULL;

#if CUDART_VERSION < 12000
	sg_rt_reference_forget(handle);
#endif
	if (!handle || !sg_rt_registry_remove_fatbin((struct sg_rt_fatbin *)handle, &library))
		return;
	/* Often from an exit handler: whatever the driver answers then, nobody can be told. */
	if (library)
		(void)SG_DRIVER(cuLibraryUnload_v12000, library);
}

SG_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
				   int thread_limit, uint3 *tid, uint3 *bid, dim3 *block,
				   dim3 *grid, int *warp_size)
{
	(void)device;
	(void)thread_limit;
	(void)tid;
	(void)bid;
	(void)block;
	(void)grid;
	(void)warp_size;
	(void)sg_rt_registry_add((struct sg_rt_fatbin *)handle, SG_RT_KERNEL, host, name, 0, false);
}

SG_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
			      size_t size, int constant, int global)
{
	(void)device;
	(void)ext;
	(void)global;
	(void)sg_rt_registry_add((struct sg_rt_fatbin *)handle, SG_RT_VARIABLE, host, name, size,
				 constant != 0);
}

SG_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
				     int ext, size_t size, int constant, int global)
{
	(void)device;
	(void)ext;
	(void)constant;
	(void)global;
	(void)sg_rt_registry_add((struct sg_rt_fatbin *)handle, SG_RT_MANAGED, host, name, size,
				 false);
}

SG_API void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
	/* Host memory that device code may use: kernels do not run, so nobody asks for it. */
	(void)handle;
	(void)name;
	(void)host;
	(void)size;
}

struct managed_list {
	struct sg_rt_entry **entries;
	size_t nr_entries, room;
};

static bool add_managed(struct sg_rt_entry *entry, void *data)
{
	struct managed_list *list = data;

	/* An entry with a handle is the address of one that was given its memory before. */
	if (entry->kind != SG_RT_MANAGED || entry->handle)
		return true;
	if (list->nr_entries == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		void *bigger = reallocarray(list->entries, room, sizeof(*list->entries));

		if (!bigger)
			return false;
		list->entries = bigger;
		list->room = room;
	}
	list->entries[list->nr_entries++] = entry;
	return true;
}

/*
 * Gives a managed variable its memory. The program's pointer to it then holds the address, and so
 * do its uses of the variable as a symbol: the address becomes a second key.
 */
static cudaError_t init_managed(struct sg_rt_entry *entry)
{
	CUdeviceptr address;
	struct sg_rt_entry *second;
	cudaError_t error;
	size_t size;

	error = managed_of(entry, &address, &size);
	if (error)
		return error;
	entry->handle = (void *)address;
	second = sg_rt_registry_add(entry->fatbin, SG_RT_MANAGED, (void *)address, entry->name,
				    entry->size, false);
	if (second)
		second->handle = (void *)address;
	*(void **)(uintptr_t)entry->host = (void *)address;
	return cudaSuccess;
}

SG_API char __cudaInitModule(void **handle)
{
	struct managed_list list = {0};
	cudaError_t error = sg_rt_context_enter();
	size_t i;

	if (!handle)
		return 0;
	if (!error)
		sg_rt_registry_visit((struct sg_rt_fatbin *)handle, add_managed, &list);
	for (i = 0; i < list.nr_entries && !error; i++)
		error = init_managed(list.entries[i]);
	free(list.entries);
	return sg_rt_error_set(error) == cudaSuccess;
}

static cudaError_t get_kernel(cudaKernel_t *kernel, const void *function)
{
	CUkernel found;
	cudaError_t error;

	if (!kernel)
		return cudaErrorInvalidValue;
	error = sg_rt_module_kernel(function, &found);
	if (!error)
		*kernel = (cudaKernel_t)found;
	return error;
}

/*
 * nvcc's code asks once for each place that launches and keeps the answer for good. A kernel that
 * cannot be had now (no image for this device, no room for a context) is therefore answered by its
 * host function: each launch then tries anew, and fails for the true reason.
 */
SG_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	cudaError_t error = sg_rt_context_enter();

	if (!error)
		error = get_kernel(kernel, function);
	if (error && kernel && sg_rt_registry_find(SG_RT_KERNEL, function)) {
		*kernel = (cudaKernel_t)(uintptr_t)function;
		return cudaSuccess;
	}
	return sg_rt_error_set(error);
}

SG_API cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	return SG_IN_CONTEXT(get_kernel(kernelPtr, entryFuncAddr));
}
