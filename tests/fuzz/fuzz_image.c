/* libFuzzer: any bytes as a device image, read as a file and, if there is no pointer in it, as
 * text. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink;

/* Everything a loaded module would touch. */
static void touch(const struct sg_image *image)
{
	for (uint32_t i = 0; i < image->kernels.nr_names; i++)
		if (sg_name_table_find(&image->kernels, image->kernels.names[i],
				       strlen(image->kernels.names[i])) != i)
			abort();
	for (uint32_t i = 0; i < image->variable_names.nr_names; i++) {
		const struct sg_image_variable *variable = &image->variables[i];
		size_t end = variable->is_managed ? image->managed_size : image->device_size;

		if (variable->init_size > variable->size || variable->offset > end ||
		    variable->size > end - variable->offset)
			abort();
		for (size_t j = 0; j < variable->init_size; j++)
			sink += variable->data[j];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int capabilities[] = {75, 90, 120};
	struct sg_image *image;
	char *text;

	for (size_t i = 0; i < SG_LENGTH(capabilities); i++) {
		if (sg_image_open(&image, data, size, capabilities[i]) == CUDA_SUCCESS) {
			touch(image);
			sg_image_close(image);
		}
	}
	/* Without a size binary headers are believed; text is not binary. */
	if (size && data[0] != 0x7f && data[0] != 0x50 && data[0] != 0xb1) {
		text = malloc(size + 1);
		if (!text)
			return 0;
		memcpy(text, data, size);
		text[size] = '\0';
		if (sg_image_open(&image, text, SG_IMAGE_UNSIZED, 90) == CUDA_SUCCESS) {
			touch(image);
			sg_image_close(image);
		}
		free(text);
	}
	return 0;
}
