/*
 * Two devices in one process.
 */
#include "sample.h"

static struct book books[2] = {{.name = "device0"}, {.name = "device1"}};

int main(void)
{
	int nr;

	CHECK(cudaGetDeviceCount(&nr));
	if (nr < 2) {
		fprintf(stderr, "needs two devices\n");
		return 77;
	}
	for (int d = 0; d < 2; d++) {
		CHECK(cudaSetDevice(d));
		for (int i = 0; i < 10 * (d + 1); i++) {
			size_t size = (size_t)(i + 1) * MIB;
			void *memory = device_alloc(&books[d], size);

			if (i % 2)
				device_free(&books[d], memory, size);
		}
	}
	book_print(&books[0]);
	book_print(&books[1]);
	printf("ooms=0\n");
	return 0;
}
