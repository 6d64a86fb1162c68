#include "module.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call_tool.h"
#include "kernel.h"
#include "memory.h"
#include "object.h"
#include "reference.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct sg_module *sg_module_get(CUmodule handle)
{
	struct sg_module *module = sg_object_get(SG_OBJECT_MODULE, handle);

	return module && module->context ? module : NULL;
}

struct sg_module *sg_module_get_library(CUlibrary handle)
{
	struct sg_module *module = sg_object_get(SG_OBJECT_MODULE, handle);

	return module && !module->context ? module : NULL;
}

static void write_variables(const struct sg_image *image, bool is_managed, CUdeviceptr block)
{
	for (uint32_t i = 0; i < image->variable_names.nr_names; i++) {
		const struct sg_image_variable *variable = &image->variables[i];

		if (variable->is_managed == is_managed && variable->init_size)
			sg_memory_write(block + variable->offset, variable->data,
					variable->init_size);
	}
}

/* Memory for the variables of one kind, with their initial values; *block is 0 for none. */
static CUresult alloc_block(const struct sg_image *image, bool is_managed,
			    struct sg_context *context, CUdeviceptr *block)
{
	size_t size = is_managed ? image->managed_size : image->device_size;
	CUresult result;

	*block = 0;
	if (!size)
		return CUDA_SUCCESS;
	if (is_managed)
		result = sg_memory_alloc(SG_MEMORY_MANAGED, context, size, CU_MEM_ATTACH_GLOBAL,
					 block);
	else
		result = sg_memory_alloc_module(context, size, block);
	if (result == CUDA_SUCCESS)
		write_variables(image, is_managed, *block);
	return result;
}

static void free_blocks(CUdeviceptr device_block, CUdeviceptr managed_block)
{
	if (device_block)
		sg_memory_free_module(device_block);
	/* The program may have freed this itself, against all rules. */
	if (managed_block &&
	    sg_memory_free(managed_block, SG_MEMORY_IS(SG_MEMORY_MANAGED)) != CUDA_SUCCESS)
		return;
}

/* The object and what it holds but device memory. Of a library, after all its modules. */
static void destroy_object(struct sg_module *module)
{
	sg_reference_forget_module(module);
	for (uint32_t i = 0; i < module->nr_kernels; i++)
		if (module->kernels[i])
			sg_kernel_destroy(module->kernels[i]);
	free(module->kernels);
	sg_name_table_fini(&module->names);
	if (!module->library)
		sg_image_close(module->image);
	sg_object_destroy(SG_OBJECT_MODULE, module);
}

CUresult sg_module_create(struct sg_image *image, struct sg_context *context,
			  struct sg_module **module)
{
	struct sg_module *new_module = sg_object_create(SG_OBJECT_MODULE, sizeof(*new_module));
	CUresult result;

	if (!new_module) {
		sg_image_close(image);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	new_module->image = image;
	if (context) {
		result = alloc_block(image, false, context, &new_module->device_block);
		if (result == CUDA_SUCCESS)
			result = alloc_block(image, true, context, &new_module->managed_block);
		if (result != CUDA_SUCCESS) {
			free_blocks(new_module->device_block, 0);
			destroy_object(new_module);
			return result;
		}
		pthread_mutex_lock(&lock);
		new_module->managed_context = context;
		new_module->context = context;
		pthread_mutex_unlock(&lock);
		sg_call_tool_report(SG_CALLS_MODULE_LOADED, context, new_module);
	}
	*module = new_module;
	return CUDA_SUCCESS;
}

void sg_module_destroy(struct sg_module *module)
{
	struct sg_module *each, *next;

	pthread_mutex_lock(&lock);
	each = module->modules;
	module->modules = NULL;
	pthread_mutex_unlock(&lock);
	if (module->context)
		sg_call_tool_report(SG_CALLS_MODULE_GOING, module->context, module);
	for (; each; each = next) {
		next = each->next;
		sg_call_tool_report(SG_CALLS_MODULE_GOING, each->context, each);
		free_blocks(each->device_block, 0);
		destroy_object(each);
	}
	free_blocks(module->device_block, module->managed_block);
	destroy_object(module);
}

/* Lock held. */
static struct sg_module *find_in_context(struct sg_module *library, struct sg_context *context)
{
	struct sg_module *each = library->modules;

	while (each && each->context != context)
		each = each->next;
	return each;
}

/*
 * Make a library's module in a context. Memory is taken without the lock, so another thread may be
 * first: whatever it has made is kept, and what is left over is given back.
 */
static CUresult load_library(struct sg_module *library, struct sg_context *context,
			     struct sg_module **module)
{
	CUdeviceptr device_block = 0, managed_block = 0;
	struct sg_module *found, *mine = sg_object_create(SG_OBJECT_MODULE, sizeof(*mine));
	bool has_managed;
	CUresult result;

	if (!mine)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	has_managed = library->managed_block;
	pthread_mutex_unlock(&lock);
	result = alloc_block(library->image, false, context, &device_block);
	if (result == CUDA_SUCCESS && !has_managed)
		result = alloc_block(library->image, true, context, &managed_block);
	if (result != CUDA_SUCCESS) {
		free_blocks(device_block, 0);
		sg_object_destroy(SG_OBJECT_MODULE, mine);
		return result;
	}
	pthread_mutex_lock(&lock);
	if (!library->managed_block && managed_block) {
		library->managed_block = managed_block;
		library->managed_context = context;
		managed_block = 0;
	}
	found = find_in_context(library, context);
	if (!found) {
		mine->image = library->image;
		mine->library = library;
		mine->device_block = device_block;
		mine->context = context;
		mine->next = library->modules;
		library->modules = mine;
		device_block = 0;
	}
	pthread_mutex_unlock(&lock);
	if (found)
		sg_object_destroy(SG_OBJECT_MODULE, mine);
	else
		sg_call_tool_report(SG_CALLS_MODULE_LOADED, context, mine);
	free_blocks(device_block, managed_block);
	*module = found ? found : mine;
	return CUDA_SUCCESS;
}

CUresult sg_module_load_library(struct sg_module *library, struct sg_context *context,
				struct sg_module **module)
{
	struct sg_module *found;
	bool is_complete;

	pthread_mutex_lock(&lock);
	found = find_in_context(library, context);
	/* Managed variables went if the context they were made in was reset. */
	is_complete = found && (library->managed_block || !library->image->managed_size);
	pthread_mutex_unlock(&lock);
	if (!is_complete)
		return load_library(library, context, module);
	*module = found;
	return CUDA_SUCCESS;
}

static const struct sg_name_table *get_names(const struct sg_module *module)
{
	return module->image->is_opaque ? &module->names : &module->image->kernels;
}

/* Lock held. The object of a kernel by number, made when it is first asked for. */
static struct sg_kernel *get_kernel(struct sg_module *module, uint32_t number)
{
	const struct sg_name_table *names = get_names(module);

	if (number >= module->nr_kernels) {
		/* All at once if their number is known, else as many as names fit. */
		uint32_t room = module->image->is_opaque ? names->nr_slots / 2 : names->nr_names;
		struct sg_kernel **kernels =
			realloc(module->kernels, room * sizeof(*module->kernels));

		if (!kernels)
			return NULL;
		memset(kernels + module->nr_kernels, 0,
		       (room - module->nr_kernels) * sizeof(*kernels));
		module->kernels = kernels;
		module->nr_kernels = room;
	}
	if (!module->kernels[number])
		module->kernels[number] = sg_kernel_create(module, names->names[number]);
	return module->kernels[number];
}

/* Lock held. An opaque image has any kernel one may ask for. */
static CUresult find_number(struct sg_module *module, const char *name, uint32_t *number)
{
	size_t length = strlen(name);

	if (module->image->is_opaque) {
		*number = sg_name_table_add(&module->names, name, length);
		return *number == SG_NAME_TABLE_NONE ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
	}
	*number = sg_name_table_find(&module->image->kernels, name, length);
	return *number == SG_NAME_TABLE_NONE ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

/* Lock held. */
static CUresult find_kernel(struct sg_module *module, const char *name, struct sg_kernel **kernel)
{
	uint32_t number;
	CUresult result = find_number(module, name, &number);

	if (result != CUDA_SUCCESS)
		return result;
	*kernel = get_kernel(module, number);
	return *kernel ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sg_module_find_kernel(struct sg_module *module, const char *name,
			       struct sg_kernel **kernel)
{
	struct sg_kernel *library_kernel = NULL;
	CUresult result = CUDA_SUCCESS;

	if (!*name)
		return CUDA_ERROR_NOT_FOUND; /* not even an opaque image has that */
	pthread_mutex_lock(&lock);
	if (module->library)
		result = find_kernel(module->library, name, &library_kernel);
	if (result == CUDA_SUCCESS)
		result = find_kernel(module, name, kernel);
	/* Once, before anybody has its handle: launches read it without the lock. */
	if (result == CUDA_SUCCESS && library_kernel && !(*kernel)->library_kernel)
		(*kernel)->library_kernel = library_kernel;
	pthread_mutex_unlock(&lock);
	return result;
}

unsigned sg_module_count_kernels(struct sg_module *module)
{
	unsigned count;

	pthread_mutex_lock(&lock);
	count = get_names(module)->nr_names;
	pthread_mutex_unlock(&lock);
	return count;
}

CUresult sg_module_list_kernels(struct sg_module *module, void *handles, unsigned max)
{
	unsigned count = sg_module_count_kernels(module);
	void **out = handles;

	for (unsigned i = 0; i < count && i < max; i++) {
		struct sg_kernel *kernel;
		const char *name;
		CUresult result;

		pthread_mutex_lock(&lock);
		name = get_names(module)->names[i];
		pthread_mutex_unlock(&lock);
		result = sg_module_find_kernel(module, name, &kernel);
		if (result != CUDA_SUCCESS)
			return result;
		out[i] = kernel;
	}
	return CUDA_SUCCESS;
}

CUresult sg_module_find_variable(struct sg_module *module, const char *name, CUdeviceptr *address,
				 size_t *size)
{
	const struct sg_image_variable *variable = sg_image_find_variable(module->image, name);
	struct sg_module *owner = module->library ? module->library : module;
	CUdeviceptr block;

	if (!variable)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&lock);
	block = variable->is_managed ? owner->managed_block : module->device_block;
	pthread_mutex_unlock(&lock);
	if (!block)
		return CUDA_ERROR_NOT_FOUND;
	if (address)
		*address = block + variable->offset;
	if (size)
		*size = variable->size;
	return CUDA_SUCCESS;
}

CUresult sg_module_find_managed(struct sg_module *library, const char *name, CUdeviceptr *address,
				size_t *size)
{
	const struct sg_image_variable *variable = sg_image_find_variable(library->image, name);

	if (!variable || !variable->is_managed)
		return CUDA_ERROR_NOT_FOUND;
	return sg_module_find_variable(library, name, address, size);
}

/* Lock held. */
static void unlink_from_library(struct sg_module *module)
{
	struct sg_module **at = &module->library->modules;

	while (*at && *at != module)
		at = &(*at)->next;
	if (*at)
		*at = module->next;
}

static void destroy_if_in(void *object, void *argument)
{
	struct sg_module *module = object;
	struct sg_context *context = argument;
	bool goes;

	pthread_mutex_lock(&lock);
	goes = module->context == context;
	if (!module->context && module->managed_context == context) {
		module->managed_block = 0; /* a library survives, its memory does not */
		module->managed_context = NULL;
	}
	if (goes && module->library)
		unlink_from_library(module);
	pthread_mutex_unlock(&lock);
	if (goes)
		destroy_object(module);
}

void sg_module_destroy_all(struct sg_context *context)
{
	sg_object_for_each(SG_OBJECT_MODULE, destroy_if_in, context);
}
