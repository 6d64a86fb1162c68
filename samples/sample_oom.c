/*
 * More than the device has: nothing to mend but the size.
 */
#include "sample.h"

static struct book device = {.name = "device"};

static void *build_layer(size_t size)
{
	return device_alloc(&device, size);
}

int main(void)
{
	while (build_layer(256 * MIB))
		;
	printf("wanted=%zu\n", 256 * MIB);
	book_print(&device);
	printf("ooms=1\n");
	return 3;
}
