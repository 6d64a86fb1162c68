/*
 * A program with functions that have the names of zlib's and of the unwinder's, exported. They are
 * for itself alone: whoever else calls one ends it.
 */
#include <unistd.h>

#include "sample.h"

#define NOT_FOR_OTHERS(name)                                                 \
	__attribute__((visibility("default"))) int name(void);               \
	int name(void)                                                       \
	{                                                                    \
		static const char text[] = "somebody called my " #name "\n"; \
                                                                             \
		if (!is_own_call && write(2, text, sizeof(text) - 1))        \
			_exit(99);                                           \
		return 7;                                                    \
	}

static int is_own_call;

NOT_FOR_OTHERS(deflate)
NOT_FOR_OTHERS(deflateInit_)
NOT_FOR_OTHERS(deflateInit2_)
NOT_FOR_OTHERS(deflateEnd)
NOT_FOR_OTHERS(deflateBound)
NOT_FOR_OTHERS(deflateReset)
NOT_FOR_OTHERS(compress)
NOT_FOR_OTHERS(compress2)
NOT_FOR_OTHERS(compressBound)
NOT_FOR_OTHERS(crc32)
NOT_FOR_OTHERS(crc32_z)
NOT_FOR_OTHERS(adler32)
NOT_FOR_OTHERS(unw_backtrace)
NOT_FOR_OTHERS(_Unwind_Backtrace)
NOT_FOR_OTHERS(_Unwind_GetIP)

int main(void)
{
	struct book device = {.name = "device"};
	int sum;

	for (size_t i = 0; i < 1000; i++) {
		void *memory = device_alloc(&device, MIB);

		if (i % 2)
			device_free(&device, memory, MIB);
		if (i % 100 == 99)
			CHECK(cudaDeviceSynchronize());
	}
	is_own_call = 1;
	sum = deflate() + crc32() + compress2() + _Unwind_Backtrace();
	is_own_call = 0;
	book_print(&device);
	printf("own=%d\n", sum);
	fflush(stdout);
	return 0;
}
