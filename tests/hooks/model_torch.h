#ifndef VS_MODEL_TORCH_H
#define VS_MODEL_TORCH_H

/*
 * A model of PyTorch's libraries, with the names that matter: model_c10.c is libc10.so, which has
 * the reporting functions and exceptions; model_c10_cuda.c is libc10_cuda.so, which calls them. Our
 * own code; the layouts are those of g++.
 */
#include <stddef.h>
#include <stdint.h>

#define MODEL_API __attribute__((visibility("default")))

/* c10::Device */
struct model_device {
	int8_t type;
	int8_t index;
};

/* c10::SourceLocation */
struct model_location {
	const char *function;
	const char *file;
	uint32_t line;
};

/* std::string since C++11: a text of 15 bytes or less lies in `rest`. */
struct model_string {
	const char *bytes;
	size_t size;
	char rest[16];
};

/* The names g++ gives them. */
#define MODEL_USAGE_2_0  _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define MODEL_USAGE_1_10 _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE
#define MODEL_USAGE_1_6  _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE
#define MODEL_OUT_2_0    _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define MODEL_OUT_1_13   _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE
#define MODEL_ERROR \
	_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
#define MODEL_ERROR_OLD _ZN3c105ErrorC2ENS_14SourceLocationESs
#define MODEL_OUT_OF_MEMORY \
	_ZN3c1016OutOfMemoryErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE

void MODEL_USAGE_2_0(void *address, int64_t size, size_t allocated, size_t reserved,
		     struct model_device device);
void MODEL_USAGE_1_10(void *address, int64_t size, int64_t allocated, int64_t reserved,
		      struct model_device device);
void MODEL_USAGE_1_6(void *address, int64_t size, struct model_device device);
void MODEL_OUT_2_0(int64_t size, size_t allocated, size_t reserved, struct model_device device);
void MODEL_OUT_1_13(int64_t size, int64_t allocated, int64_t reserved, struct model_device device);

/* What arrived at libc10 last: `model_heard` there. */
struct model_heard {
	unsigned nr; /* calls so far, of all threads; the rest is of one thread's calls only */
	const char *function;
	void *address;
	int64_t size;
	uint64_t allocated;
	uint64_t reserved;
	struct model_device device;
	struct model_location location;
	const void *text;
	int error_number;
};

/* What libc10_cuda can be told to do: `model_table` there. */
struct model_table {
	__typeof__(&MODEL_USAGE_2_0) usage_2_0;
	__typeof__(&MODEL_USAGE_1_10) usage_1_10;
	__typeof__(&MODEL_USAGE_1_6) usage_1_6;
	__typeof__(&MODEL_OUT_2_0) out_2_0;
	__typeof__(&MODEL_OUT_1_13) out_1_13;
	/* Throws: makes an exception of the text, at line 7 of its file. */
	void (*error)(void *object, const char *text);
	void (*error_old)(void *object, const char *text);
	void (*out_of_memory)(void *object, const char *text);
};

#endif
