/* libnvshmem_host: one processing element, whose memory is plain device memory. */
#include <stdint.h>

#include "math_call.h"
#include "math_device.h"

#define STATUS_INITIALISED 2 /* NVSHMEM_STATUS_IS_INITIALIZED */

int sg_math_bad_handle(void)
{
	return 1;
}

SG_MATH_API(void *, nvshmem_malloc, size_t size)
{
	void *memory = NULL;

	return size && sg_math_device_alloc(&memory, size) == 0 ? memory : NULL;
}

SG_MATH_API(void, nvshmem_free, void *memory)
{
	sg_math_device_free(memory);
}

SG_MATH_API(void *, nvshmem_ptr, void *memory, int element)
{
	return element == 0 ? memory : NULL;
}

SG_MATH_API(int, nvshmem_team_my_pe, int team)
{
	(void)team;
	return 0;
}

SG_MATH_API(int, nvshmem_team_n_pes, int team)
{
	(void)team;
	return 1;
}

SG_MATH_API(int, nvshmemid_init_status, void)
{
	return STATUS_INITIALISED;
}

SG_MATH_API(void, nvshmem_info_get_version, int *major, int *minor)
{
	sg_math_call_put_int(major, sg_math_version[SG_MATH_MAJOR_VERSION]);
	sg_math_call_put_int(minor, sg_math_version[SG_MATH_MINOR_VERSION]);
}

static void copy(void *to, const void *from, size_t size, void *stream)
{
	/* Nothing to return it by: the program finds out as it would with a real one. */
	if (sg_math_device_copy(to, from, size, stream) != 0)
		return;
}

SG_MATH_API(void, nvshmemx_putmem_on_stream, void *to, const void *from, size_t size, int element,
	    void *stream)
{
	(void)element;
	copy(to, from, size, stream);
}

SG_MATH_API(void, nvshmemx_getmem_on_stream, void *to, const void *from, size_t size, int element,
	    void *stream)
{
	(void)element;
	copy(to, from, size, stream);
}

SG_MATH_API(int, nvshmemx_broadcastmem_on_stream, int team, void *to, const void *from, size_t size,
	    int root, void *stream)
{
	(void)team;
	(void)root;
	copy(to, from, size, stream);
	return 0;
}

SG_MATH_API(int, nvshmemx_alltoallmem_on_stream, int team, void *to, const void *from, size_t size,
	    void *stream)
{
	(void)team;
	copy(to, from, size, stream);
	return 0;
}
