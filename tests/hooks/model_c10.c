/* libc10.so in a model: hears reports and makes exceptions. */
#include <errno.h>
#include <stdatomic.h>

#include "model_torch.h"

MODEL_API struct model_heard model_heard;
MODEL_API _Atomic unsigned model_nr_heard; /* by all threads */
MODEL_API void model_report_host(void *address, int64_t size);
MODEL_API void MODEL_ERROR(void *object, struct model_location location,
			   const struct model_string *text);
MODEL_API void MODEL_ERROR_OLD(void *object, struct model_location location,
			       const char *const *text);
MODEL_API void MODEL_OUT_OF_MEMORY(void *object, struct model_location location,
				   const struct model_string *text);

/* Several threads may be here at once; what one of them heard is asked for only when it is alone.
 */
static void hear(const struct model_heard *heard)
{
	unsigned nr = atomic_fetch_add(&model_nr_heard, 1) + 1;

	if (heard->address == (void *)-1)
		return;
	model_heard = *heard;
	model_heard.nr = nr;
	model_heard.error_number = errno;
}

#pragma GCC visibility push(default)

void MODEL_USAGE_2_0(void *address, int64_t size, size_t allocated, size_t reserved,
		     struct model_device device)
{
	struct model_heard heard = {.function = "usage 2.0",
				    .address = address,
				    .size = size,
				    .allocated = allocated,
				    .reserved = reserved,
				    .device = device};

	hear(&heard);
}

void MODEL_USAGE_1_10(void *address, int64_t size, int64_t allocated, int64_t reserved,
		      struct model_device device)
{
	struct model_heard heard = {.function = "usage 1.10",
				    .address = address,
				    .size = size,
				    .allocated = (uint64_t)allocated,
				    .reserved = (uint64_t)reserved,
				    .device = device};

	hear(&heard);
}

void MODEL_USAGE_1_6(void *address, int64_t size, struct model_device device)
{
	struct model_heard heard = {
		.function = "usage 1.6", .address = address, .size = size, .device = device};

	hear(&heard);
}

void MODEL_OUT_2_0(int64_t size, size_t allocated, size_t reserved, struct model_device device)
{
	struct model_heard heard = {.function = "out 2.0",
				    .size = size,
				    .allocated = allocated,
				    .reserved = reserved,
				    .device = device};

	hear(&heard);
}

void MODEL_OUT_1_13(int64_t size, int64_t allocated, int64_t reserved, struct model_device device)
{
	struct model_heard heard = {.function = "out 1.13",
				    .size = size,
				    .allocated = (uint64_t)allocated,
				    .reserved = (uint64_t)reserved,
				    .device = device};

	hear(&heard);
}

#pragma GCC visibility pop

void MODEL_ERROR(void *object, struct model_location location, const struct model_string *text)
{
	struct model_heard heard = {
		.function = "error", .address = object, .location = location, .text = text};

	hear(&heard);
}

void MODEL_ERROR_OLD(void *object, struct model_location location, const char *const *text)
{
	struct model_heard heard = {
		.function = "error old", .address = object, .location = location, .text = text};

	hear(&heard);
}

/* Its base is made first, as in C++. */
void MODEL_OUT_OF_MEMORY(void *object, struct model_location location,
			 const struct model_string *text)
{
	MODEL_ERROR(object, location, text);
	model_heard.function = "out of memory";
}

/* Memory of the host: libc10 reports to itself. */
void model_report_host(void *address, int64_t size)
{
	MODEL_USAGE_2_0(address, size, 0, 0, (struct model_device){0, -1});
}
