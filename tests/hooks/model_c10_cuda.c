/* libc10_cuda.so in a model: reports and throws across libraries. */
#include <string.h>

#include "model_torch.h"

void MODEL_ERROR(void *object, struct model_location location, const struct model_string *text);
void MODEL_ERROR_OLD(void *object, struct model_location location, const char *const *text);
void MODEL_OUT_OF_MEMORY(void *object, struct model_location location,
			 const struct model_string *text);
extern MODEL_API const struct model_table model_table;

static const struct model_location location = {"malloc", "CUDACachingAllocator.cpp", 7};

static void throw_error(void *object, const char *text)
{
	struct model_string string = {.bytes = text, .size = strlen(text)};

	MODEL_ERROR(object, location, &string);
}

static void throw_out_of_memory(void *object, const char *text)
{
	struct model_string string = {.bytes = text, .size = strlen(text)};

	MODEL_OUT_OF_MEMORY(object, location, &string);
}

/* std::string before C++11: one pointer, and length, capacity and references before the bytes. */
static void throw_error_old(void *object, const char *text)
{
	struct {
		size_t size;
		size_t capacity;
		size_t references;
		char bytes[200];
	} shared = {.size = strlen(text)};
	const char *string = shared.bytes;

	memcpy(shared.bytes, text, shared.size);
	MODEL_ERROR_OLD(object, location, &string);
}

const struct model_table model_table = {
	.usage_2_0 = MODEL_USAGE_2_0,
	.usage_1_10 = MODEL_USAGE_1_10,
	.usage_1_6 = MODEL_USAGE_1_6,
	.out_2_0 = MODEL_OUT_2_0,
	.out_1_13 = MODEL_OUT_1_13,
	.error = throw_error,
	.error_old = throw_error_old,
	.out_of_memory = throw_out_of_memory,
};
