#include "vmm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "object.h"
#include "sharing.h"

#define HOST_PAGE 4096

/* Reserved addresses. Guarded by the memory lock, like everything here. */
struct reservation {
	struct sg_node node;
};

struct sg_physical {
	CUmemAllocationProp props;
	CUdevice device; /* -1: on the host */
	uint64_t size;
	struct sg_run *run;
	unsigned nr_references; /* handles the program still has to release */
	unsigned nr_mappings;
};

static struct sg_tree reservations;

CUmemGenericAllocationHandle sg_vmm_get_handle(const struct sg_physical *physical)
{
	return (CUmemGenericAllocationHandle)(uintptr_t)physical;
}

unsigned sg_vmm_get_handle_types(const struct sg_physical *physical)
{
	return (unsigned)physical->props.requestedHandleTypes;
}

/* A handle the program has not released yet. */
static struct sg_physical *get_physical(CUmemGenericAllocationHandle handle)
{
	struct sg_physical *physical =
		sg_object_get(SG_OBJECT_PHYSICAL, (const void *)(uintptr_t)handle);

	return physical && physical->nr_references ? physical : NULL;
}

struct sg_physical *sg_vmm_get_physical(CUmemGenericAllocationHandle handle)
{
	return get_physical(handle);
}

struct sg_run *sg_vmm_get_run(const struct sg_physical *physical)
{
	return physical->run;
}

struct sg_physical *sg_vmm_adopt(struct sg_run *run, CUdevice device)
{
	struct sg_physical *physical = sg_object_create(SG_OBJECT_PHYSICAL, sizeof(*physical));

	if (!physical)
		return NULL;
	physical->props = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST_NUMA
						: CU_MEM_LOCATION_TYPE_DEVICE,
			     .id = device < 0 ? 0 : device},
	};
	physical->device = device;
	physical->size = run->pages->node.size;
	physical->run = run;
	physical->nr_references = 1;
	return physical;
}

static bool is_page_multiple(uint64_t value)
{
	return value % SG_PAGE_SIZE == 0;
}

static void destroy_if_unused(struct sg_physical *physical)
{
	if (physical->nr_references || physical->nr_mappings)
		return;
	sg_space_give_run(physical->run);
	sg_object_destroy(SG_OBJECT_PHYSICAL, physical);
}

static void *map_nothing(uint64_t hint, size_t size)
{
	return mmap((void *)(uintptr_t)hint, size, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/*
 * Addresses that nobody else gets, at the hint if that is free; 0 when they are out. Not one more
 * than asked for: a program that grows an array wants those right behind.
 */
static uint64_t take_addresses(size_t size, size_t alignment, uint64_t hint)
{
	uint64_t base, wide_end;
	void *mapping;

	if (hint) {
		mapping = map_nothing(hint, size);
		if (mapping != MAP_FAILED && (uintptr_t)mapping % alignment == 0)
			return (uintptr_t)mapping;
		if (mapping != MAP_FAILED)
			munmap(mapping, size);
	}
	mapping = map_nothing(0, size + alignment);
	if (mapping == MAP_FAILED)
		return 0;
	base = ((uintptr_t)mapping + alignment - 1) & ~(uint64_t)(alignment - 1);
	wide_end = (uintptr_t)mapping + size + alignment;
	if (base > (uintptr_t)mapping)
		munmap(mapping, base - (uintptr_t)mapping);
	munmap((void *)(uintptr_t)(base + size), wide_end - base - size);
	return base;
}

static CUresult reserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr hint)
{
	struct reservation *reservation = malloc(sizeof(*reservation));
	uint64_t base;

	if (!reservation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	base = take_addresses(size, alignment, hint);
	if (!base) {
		free(reservation);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	reservation->node.base = base;
	reservation->node.size = size;
	sg_memory_lock();
	sg_tree_insert(&reservations, &reservation->node);
	sg_memory_unlock();
	*ptr = base;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
				    CUdeviceptr addr, unsigned long long flags)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ptr || !size || flags || size % HOST_PAGE || addr % HOST_PAGE ||
	    (alignment & (alignment - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment < SG_PAGE_SIZE)
		alignment = SG_PAGE_SIZE;
	if (size > (size_t)1 << 46 || alignment > (size_t)1 << 46)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return reserve(ptr, size, alignment, addr & ~(SG_PAGE_SIZE - 1));
}

/* Whether any mapping lies in the range. Locked. */
static bool is_mapped_in(uint64_t base, uint64_t size)
{
	struct sg_block *block = sg_memory_find_from(base);

	return block && block->node.base < base + size;
}

static void destroy_reservation(struct reservation *reservation)
{
	sg_tree_remove(&reservations, &reservation->node);
	munmap((void *)(uintptr_t)reservation->node.base, reservation->node.size);
	free(reservation);
}

SG_API CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	struct sg_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	node = sg_tree_find(&reservations, ptr);
	if (node && node->base == ptr && node->size == size && !is_mapped_in(ptr, size))
		destroy_reservation((struct reservation *)(void *)node);
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}

/* Where a physical allocation is to lie: the device, -1 for the host, or what is wrong with it. */
static CUresult check_props(const CUmemAllocationProp *prop, CUdevice *device)
{
	if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	switch (prop->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*device = prop->location.id;
		return sg_init_check_device(*device);
	case CU_MEM_LOCATION_TYPE_HOST:
		*device = -1;
		return prop->requestedHandleTypes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*device = -1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					      CUmemAllocationGranularity_flags option)
{
	CUdevice device;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!granularity || !prop ||
	    (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
	     option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	result = check_props(prop, &device);
	if (result == CUDA_SUCCESS)
		*granularity = SG_PAGE_SIZE;
	return result;
}

/* Locked: who goes through all physical memory (a reset) must not meet one that is half made. */
static CUresult create_physical(const CUmemAllocationProp *prop, CUdevice device, size_t size,
				struct sg_physical **out)
{
	struct sg_space *space = sg_memory_get_space(SG_MEMORY_MAPPED, device);
	struct sg_physical *physical = sg_object_create(SG_OBJECT_PHYSICAL, sizeof(*physical));

	if (!physical)
		return CUDA_ERROR_OUT_OF_MEMORY;
	physical->props = *prop;
	physical->device = device;
	physical->size = size;
	physical->run = prop->requestedHandleTypes ? sg_sharing_take_run(space, size)
						   : sg_space_take_run(space, size);
	if (!physical->run) {
		sg_object_destroy(SG_OBJECT_PHYSICAL, physical);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	physical->nr_references = 1;
	*out = physical;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			    const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct sg_physical *physical;
	CUdevice device;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || !prop || !size || flags || !is_page_multiple(size))
		return CUDA_ERROR_INVALID_VALUE;
	result = check_props(prop, &device);
	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	result = create_physical(prop, device, size, &physical);
	sg_memory_unlock();
	if (result == CUDA_SUCCESS)
		*handle = sg_vmm_get_handle(physical);
	return result;
}

SG_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct sg_physical *physical;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	physical = get_physical(handle);
	if (physical) {
		physical->nr_references--;
		destroy_if_unused(physical);
	} else {
		result = CUDA_ERROR_INVALID_VALUE;
	}
	sg_memory_unlock();
	return result;
}

/* Memory on the host is used by the program itself: let it see the bytes at the address. */
static bool map_host_bytes(const struct sg_physical *physical, uint64_t address, uint64_t size)
{
	struct sg_arena_place place =
		sg_space_locate(physical->run, physical->run->pages->node.base);
	int shared = place.fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	return mmap((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE, shared | MAP_FIXED,
		    place.fd, place.fd >= 0 ? (off_t)place.offset : 0) != MAP_FAILED;
}

/* Locked. */
static CUresult map_physical(struct sg_physical *physical, uint64_t address, uint64_t size)
{
	struct sg_block *block = sg_memory_create_block();

	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->node.base = address;
	block->node.size = size;
	block->kind = SG_MEMORY_MAPPED;
	block->device = physical->device;
	block->run = physical->run;
	block->physical = physical;
	sg_memory_insert(block);
	if (physical->device < 0 && !map_host_bytes(physical, address, size)) {
		sg_memory_remove(block);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	physical->nr_mappings++;
	return CUDA_SUCCESS;
}

const struct sg_node *sg_vmm_find_reservation(uint64_t address)
{
	return sg_tree_find(&reservations, address);
}

/* Whether the range lies in one reservation or in several that follow each other. Locked. */
static bool is_reserved(uint64_t address, uint64_t size)
{
	while (size) {
		struct sg_node *node = sg_tree_find(&reservations, address);
		uint64_t part;

		if (!node)
			return false;
		part = node->base + node->size - address;
		if (part > size)
			part = size;
		address += part;
		size -= part;
	}
	return true;
}

SG_API CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
			 CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct sg_physical *physical;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	/* "offset: currently must be zero" */
	if (!size || flags || offset || !is_page_multiple(ptr) || !is_page_multiple(size))
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	physical = get_physical(handle);
	if (!physical || size > physical->size || !is_reserved(ptr, size) ||
	    is_mapped_in(ptr, size))
		result = CUDA_ERROR_INVALID_VALUE;
	else
		result = map_physical(physical, ptr, size);
	sg_memory_unlock();
	return result;
}

void sg_vmm_unmap_block(struct sg_block *block)
{
	struct sg_physical *physical = block->physical;

	/* The address goes back to being reserved, and nothing more. */
	if (physical->device < 0)
		mmap((void *)(uintptr_t)block->node.base, block->node.size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	physical->nr_mappings--;
	destroy_if_unused(physical);
}

/* Whether whole mappings cover the range without a gap. Locked. */
static bool is_covered(uint64_t address, uint64_t size)
{
	while (size) {
		struct sg_block *block = sg_memory_find(address);

		if (!block || block->kind != SG_MEMORY_MAPPED || block->node.base != address ||
		    block->node.size > size)
			return false;
		address += block->node.size;
		size -= block->node.size;
	}
	return true;
}

SG_API CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	if (!is_covered(ptr, size)) {
		sg_memory_unlock();
		return CUDA_ERROR_INVALID_VALUE;
	}
	for (uint64_t address = ptr; address < ptr + size;) {
		struct sg_block *block = sg_memory_find(address);

		address += block->node.size;
		sg_vmm_unmap_block(block);
		sg_memory_remove(block);
	}
	sg_memory_unlock();
	return CUDA_SUCCESS;
}

static CUresult check_access(const CUmemAccessDesc *desc, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
		switch (desc[i].location.type) {
		case CU_MEM_LOCATION_TYPE_DEVICE:
			if (sg_init_check_device(desc[i].location.id) != CUDA_SUCCESS)
				return CUDA_ERROR_INVALID_DEVICE;
			break;
		case CU_MEM_LOCATION_TYPE_HOST:
		case CU_MEM_LOCATION_TYPE_HOST_NUMA:
			break;
		default:
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_SUCCESS;
}

/* "Users cannot specify HOST_NUMA accessibility for allocations with other location types." */
static bool may_have_access(const struct sg_block *block, const CUmemAccessDesc *desc, size_t count)
{
	if (block->physical->props.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return true;
	for (size_t i = 0; i < count; i++)
		if (desc[i].location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
			return false;
	return true;
}

static void apply_access(struct sg_block *block, const CUmemAccessDesc *desc, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned char flags = (unsigned char)desc[i].flags;

		if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			block->access[desc[i].location.id] = flags;
		else
			block->host_access = flags;
	}
}

SG_API CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
			       size_t count)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!size || !desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_access(desc, count);
	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	if (!is_covered(ptr, size))
		result = CUDA_ERROR_INVALID_VALUE;
	for (uint64_t address = ptr; result == CUDA_SUCCESS && address < ptr + size;) {
		struct sg_block *block = sg_memory_find(address);

		if (!may_have_access(block, desc, count))
			result = CUDA_ERROR_INVALID_VALUE;
		address += block->node.size;
	}
	for (uint64_t address = ptr; result == CUDA_SUCCESS && address < ptr + size;) {
		struct sg_block *block = sg_memory_find(address);

		apply_access(block, desc, count);
		address += block->node.size;
	}
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
			       CUdeviceptr ptr)
{
	struct sg_block *block;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
	    sg_init_check_device(location->id) != CUDA_SUCCESS)
		return CUDA_ERROR_INVALID_DEVICE;
	sg_memory_lock();
	block = sg_memory_find(ptr);
	if (!block || block->kind != SG_MEMORY_MAPPED)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
		*flags = block->access[location->id];
	else if (location->type == CU_MEM_LOCATION_TYPE_HOST ||
		 location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
		*flags = block->host_access;
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						       CUmemGenericAllocationHandle handle)
{
	struct sg_physical *physical;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	physical = get_physical(handle);
	if (prop && physical)
		*prop = physical->props;
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	struct sg_block *block;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	block = sg_memory_find((uintptr_t)addr);
	if (handle && block && block->kind == SG_MEMORY_MAPPED) {
		block->physical->nr_references++;
		*handle = sg_vmm_get_handle(block->physical);
	} else {
		result = CUDA_ERROR_INVALID_VALUE;
	}
	sg_memory_unlock();
	return result;
}

static void drop_references(void *object, void *argument)
{
	struct sg_physical *physical = object;

	if (physical->device != *(CUdevice *)argument)
		return;
	physical->nr_references = 0;
	destroy_if_unused(physical);
}

void sg_vmm_reset(CUdevice device)
{
	sg_object_for_each(SG_OBJECT_PHYSICAL, drop_references, &device);
}
