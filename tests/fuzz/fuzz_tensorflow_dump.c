/* libFuzzer: any bytes as a memory dump of TensorFlow; what is found in them is told. */
#include <stdlib.h>

#include "tensorflow_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[VS_TENSORFLOW_DUMP_TEXT_MAX];
	struct vs_tensorflow_dump dump;

	if (vs_tensorflow_dump_read(&dump, data, size) &&
	    vs_tensorflow_dump_tell(&dump, text) >= sizeof(text))
		abort();
	return 0;
}
