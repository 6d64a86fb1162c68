#include "sites.h"

#include <stdlib.h>
#include <string.h>

/* Two pages of different handles; the site lies over where they meet. */
static CUdeviceptr map_two_pages(void)
{
	const CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	const CUmemAccessDesc desc = {.location = props.location,
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handles[2];
	CUdeviceptr address;

	assert_ok(cuMemAddressReserve(&address, 2 * PAGE, 0, 0, 0));
	/* the second page first, so that they do not follow each other physically */
	for (size_t i = 2; i-- > 0;) {
		assert_ok(cuMemCreate(&handles[i], PAGE, &props, 0));
		assert_ok(cuMemMap(address + i * PAGE, PAGE, 0, handles[i], 0));
		assert_ok(cuMemRelease(handles[i]));
	}
	assert_ok(cuMemSetAccess(address, 2 * PAGE, &desc, 1));
	return address;
}

static void make_site(struct sg_site *site, const char *name, CUdeviceptr address, bool is_cuda,
		      bool is_host)
{
	*site = (struct sg_site){.name = name,
				 .address = address,
				 .is_cuda = is_cuda,
				 .is_host = is_host,
				 .shadow = malloc(SITE_SIZE)};
	assert_non_null(site->shadow);
	for (size_t i = 0; i < SITE_SIZE; i++)
		site->shadow[i] = (unsigned char)(i * 31 + (size_t)name[0] + i / 251);
	assert_ok(cuMemcpy(address, (CUdeviceptr)(uintptr_t)site->shadow, SITE_SIZE));
}

static CUdeviceptr to_address(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

void sg_sites_create(struct sg_site sites[NR_SITES], CUcontext contexts[2])
{
	CUdeviceptr address;
	void *host;

	contexts[0] = sg_rig_open();
	assert_ok(cuCtxCreate(&contexts[1], NULL, 0, 1));
	assert_ok(cuMemAlloc(&address, SITE_SIZE));
	make_site(&sites[SITE_OTHER_DEVICE], "other device", address, true, false);
	assert_ok(cuCtxPopCurrent(NULL));
	assert_ok(cuMemAlloc(&address, SITE_SIZE));
	make_site(&sites[SITE_DEVICE], "device", address, true, false);
	assert_ok(cuMemAllocAsync(&address, SITE_SIZE, NULL));
	make_site(&sites[SITE_POOL], "pool", address, true, false);
	make_site(&sites[SITE_MAPPED], "mapped", map_two_pages() + PAGE - SITE_SIZE / 2, true,
		  false);
	assert_ok(cuMemAllocManaged(&address, SITE_SIZE, CU_MEM_ATTACH_GLOBAL));
	make_site(&sites[SITE_MANAGED], "managed", address, true, true);
	assert_ok(cuMemAllocHost(&host, SITE_SIZE));
	make_site(&sites[SITE_PINNED], "pinned", to_address(host), true, true);
	host = malloc(SITE_SIZE);
	assert_ok(cuMemHostRegister(host, SITE_SIZE, 0));
	make_site(&sites[SITE_REGISTERED], "registered", to_address(host), true, true);
	make_site(&sites[SITE_PLAIN], "own", to_address(malloc(SITE_SIZE)), false, true);
}

void sg_sites_destroy(struct sg_site sites[NR_SITES], CUcontext contexts[2])
{
	CUdeviceptr mapped = sites[SITE_MAPPED].address + SITE_SIZE / 2 - PAGE;

	assert_ok(cuMemFreeAsync(sites[SITE_POOL].address, NULL));
	assert_ok(cuCtxSynchronize());
	assert_ok(cuMemUnmap(mapped, 2 * PAGE));
	assert_ok(cuMemAddressFree(mapped, 2 * PAGE));
	assert_ok(cuCtxDestroy(contexts[1]));
	assert_ok(cuCtxDestroy(contexts[0]));
	free((void *)(uintptr_t)sites[SITE_REGISTERED].address);
	free((void *)(uintptr_t)sites[SITE_PLAIN].address);
	for (int i = 0; i < NR_SITES; i++)
		free(sites[i].shadow);
}

void sg_sites_compare(const struct sg_site *site)
{
	static unsigned char bytes[SITE_SIZE];

	/* The program's own eyes where it has any, else one copy that is not what is tested. */
	if (site->is_host)
		memcpy(bytes, (const void *)(uintptr_t)site->address, SITE_SIZE);
	else
		assert_ok(cuMemcpyDtoH(bytes, site->address, SITE_SIZE));
	if (!memcmp(bytes, site->shadow, SITE_SIZE))
		return;
	for (size_t i = 0; i < SITE_SIZE; i++)
		if (bytes[i] != site->shadow[i])
			fail_msg("%s: byte %zu is %d, not %d", site->name, i, bytes[i],
				 site->shadow[i]);
}
