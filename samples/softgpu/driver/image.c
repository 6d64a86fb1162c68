#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "image_readers.h"

#define WRAPPER_MAGIC 0x466243b1u /* FATBINC_MAGIC of fatbinary_section.h */
#define FAT_MAGIC     0xba55ed50u

/* No device has as much memory: more is a broken image, and sums stay far from overflow. */
#define MAX_ALIGNMENT      512 /* of what is taken from the device at once */
#define MAX_VARIABLES_SIZE ((size_t)1 << 44)

/* Header of a fat binary: magic, u16 version, u16 header size, u64 size of all entries. */
#define FAT_HEADER_SIZE 16

/* One entry of it; only what is needed of the 64 bytes that every version has. */
#define ENTRY_HEADER_SIZE 64
enum entry_offset {
	ENTRY_KIND = 0,
	ENTRY_HEADER = 4,
	ENTRY_PAYLOAD = 8,
	ENTRY_COMPRESSED = 16,
	ENTRY_ARCH = 28,
	ENTRY_FLAGS = 40,
};
#define FLAG_ONE_ARCH 0x100000u /* sm_90a, compute_90a: for that device and no other */
#define FLAG_FAMILY   0x200000u /* sm_100f, compute_100f: for its major version */

enum entry_kind {
	ENTRY_PTX = 1,
	ENTRY_ELF = 2,
};

struct entry {
	unsigned kind;
	int arch;
	uint32_t flags;
	bool is_compressed;
	const unsigned char *bytes;
	size_t size;
};

static uint16_t get_u16(const unsigned char *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint32_t get_u32(const unsigned char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t get_u64(const unsigned char *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

bool sg_image_add_kernel(struct sg_image *image, const char *name, size_t length)
{
	return sg_name_table_add(&image->kernels, name, length) != SG_NAME_TABLE_NONE;
}

/* The alignment that it asks for, if that is more than any type wants. */
static size_t get_alignment(const struct sg_image_variable *variable)
{
	size_t least = variable->size >= 256 ? 256 : 16, wanted = variable->alignment;

	if (wanted & (wanted - 1) || wanted > MAX_ALIGNMENT)
		return least;
	return wanted > least ? wanted : least;
}

/* Place it behind the others of its kind. */
static bool place(struct sg_image *image, struct sg_image_variable *variable)
{
	size_t *end = variable->is_managed ? &image->managed_size : &image->device_size;
	size_t alignment = get_alignment(variable);

	variable->offset = (*end + alignment - 1) & ~(alignment - 1);
	if (variable->size > MAX_VARIABLES_SIZE - variable->offset)
		return false;
	/* Never nothing: a variable without a size has an address all the same. */
	*end = variable->offset + (variable->size ? variable->size : 1);
	return true;
}

bool sg_image_add_variable(struct sg_image *image, const char *name, size_t length,
			   const struct sg_image_variable *variable)
{
	uint32_t nr = image->variable_names.nr_names;
	struct sg_image_variable *array, copy = *variable;
	unsigned char *data = NULL;

	if (sg_name_table_find(&image->variable_names, name, length) != SG_NAME_TABLE_NONE)
		return true;
	if (!(nr & (nr - 1))) { /* full at each power of two */
		array = realloc(image->variables, (nr ? 2 * (size_t)nr : 1) * sizeof(*array));
		if (!array)
			return false;
		image->variables = array;
	}
	if (!place(image, &copy))
		return false;
	if (copy.init_size) {
		data = malloc(copy.init_size);
		if (!data)
			return false;
		memcpy(data, variable->data, copy.init_size);
	}
	copy.data = data;
	if (sg_name_table_add(&image->variable_names, name, length) == SG_NAME_TABLE_NONE) {
		free(data);
		return false;
	}
	image->variables[nr] = copy;
	return true;
}

const struct sg_image_kernel *sg_image_find_needs(const struct sg_image *image, const char *name)
{
	uint32_t number;

	if (!image->needs)
		return NULL;
	number = sg_name_table_find(&image->kernels, name, strlen(name));
	return number != SG_NAME_TABLE_NONE && image->needs[number].registers
		       ? &image->needs[number]
		       : NULL;
}

const struct sg_image_variable *sg_image_find_variable(const struct sg_image *image,
						       const char *name)
{
	uint32_t number = sg_name_table_find(&image->variable_names, name, strlen(name));

	return number == SG_NAME_TABLE_NONE ? NULL : &image->variables[number];
}

/* Machine code runs on its own major architecture from its minor version on. */
static bool elf_fits(int arch, int cc)
{
	return arch / 10 == cc / 10 && arch <= cc;
}

/* 1: an entry, 0: no more, -1: broken. *bytes and *size advance over it. */
static int next_entry(const unsigned char **bytes, size_t *size, struct entry *entry)
{
	size_t header, payload;

	if (*size < ENTRY_HEADER_SIZE)
		return 0; /* padding */
	header = get_u32(*bytes + ENTRY_HEADER);
	payload = get_u64(*bytes + ENTRY_PAYLOAD);
	if (header < ENTRY_HEADER_SIZE || header > *size || payload > *size - header)
		return -1;
	*entry = (struct entry){
		.kind = get_u16(*bytes + ENTRY_KIND),
		.arch = (int)(get_u32(*bytes + ENTRY_ARCH) & 0xffff),
		.flags = get_u32(*bytes + ENTRY_FLAGS),
		.is_compressed = get_u32(*bytes + ENTRY_COMPRESSED) != 0,
		.bytes = *bytes + header,
		.size = payload,
	};
	*bytes += header + payload;
	*size -= header + payload;
	return 1;
}

/* What the code was made of; where it does not say, of its own architecture. */
static int get_ptx_version(const unsigned char *bytes, size_t size, int arch)
{
	int ptx_arch = sg_image_needs_get_ptx_arch(bytes, size);

	return ptx_arch > 0 && ptx_arch <= arch ? ptx_arch : arch;
}

/* PTX fits every later device; either may be made for fewer. */
static bool entry_fits(const struct entry *entry, int cc)
{
	if (entry->flags & FLAG_ONE_ARCH)
		return entry->arch == cc;
	if (entry->kind == ENTRY_ELF || (entry->flags & FLAG_FAMILY))
		return elf_fits(entry->arch, cc);
	return entry->arch <= cc;
}

/* Whether a is the better code for the device; b may be of no kind. */
static bool is_better(const struct entry *a, const struct entry *b, int cc)
{
	if (!entry_fits(a, cc))
		return false;
	if (a->kind != b->kind)
		return a->kind == ENTRY_ELF || b->kind != ENTRY_ELF;
	return a->arch > b->arch;
}

/* A cubin: names, then what the kernels need. */
static CUresult read_cubin(struct sg_image *image, const unsigned char *bytes, size_t size)
{
	CUresult result = sg_image_elf_read(image, bytes, size);

	return result == CUDA_SUCCESS ? sg_image_needs_read(image, bytes, size) : result;
}

static CUresult read_entry(struct sg_image *image, const struct entry *entry)
{
	if (entry->kind == ENTRY_ELF)
		return read_cubin(image, entry->bytes, entry->size);
	return sg_image_ptx_read(image, (const char *)entry->bytes,
				 strnlen((const char *)entry->bytes, entry->size));
}

/*
 * The code for the device decides what versions kernels report. Where it is compressed, the names
 * come from any other entry that is not: all of them are made of the same source.
 */
static CUresult read_entries(struct sg_image *image, const unsigned char *bytes, size_t size,
			     int cc)
{
	struct entry entry, best = {0}, readable = {0};
	int more;

	while ((more = next_entry(&bytes, &size, &entry)) > 0) {
		if (entry.kind != ENTRY_ELF && entry.kind != ENTRY_PTX)
			continue;
		if (is_better(&entry, &best, cc))
			best = entry;
		if (!entry.is_compressed && (!readable.kind || entry.kind == ENTRY_ELF))
			readable = entry;
	}
	if (more < 0)
		return CUDA_ERROR_INVALID_IMAGE;
	if (!best.kind)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	image->ptx_version = best.arch;
	image->binary_version = best.kind == ENTRY_ELF ? best.arch : cc;
	if (best.kind == ENTRY_ELF && !best.is_compressed)
		image->ptx_version = get_ptx_version(best.bytes, best.size, best.arch);
	if (!best.is_compressed)
		return read_entry(image, &best);
	if (readable.kind)
		return read_entry(image, &readable);
	image->is_opaque = true;
	return CUDA_SUCCESS;
}

static CUresult read_fat(struct sg_image *image, const unsigned char *bytes, size_t size, int cc)
{
	size_t header, entries;

	if (size < FAT_HEADER_SIZE)
		return CUDA_ERROR_INVALID_IMAGE;
	header = get_u16(bytes + 6);
	entries = get_u64(bytes + 8);
	if (header < FAT_HEADER_SIZE || header > size || entries > size - header)
		return CUDA_ERROR_INVALID_IMAGE;
	return read_entries(image, bytes + header, entries, cc);
}

/* Our runtime's own images refer to a cubin in memory, which may be the very code they stand for.
 */
static CUresult read_origin(struct sg_image *image, const unsigned char *bytes, size_t size)
{
	const unsigned char *cubin;
	size_t cubin_size;
	bool has_code;

	if (!sg_image_needs_find_cubin(bytes, size, &cubin, &cubin_size))
		return CUDA_SUCCESS;
	if (sg_image_elf_get_arch(cubin, cubin_size, &has_code) == image->binary_version)
		image->ptx_version = get_ptx_version(cubin, cubin_size, image->binary_version);
	return sg_image_needs_read(image, cubin, cubin_size);
}

static CUresult read_elf(struct sg_image *image, const unsigned char *bytes, size_t size, int cc)
{
	bool has_code;
	int arch = sg_image_elf_get_arch(bytes, size, &has_code);
	CUresult result;

	if (!arch)
		return CUDA_ERROR_INVALID_IMAGE;
	if (has_code ? !elf_fits(arch, cc) : arch > cc)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	image->ptx_version = get_ptx_version(bytes, size, arch);
	/* Names alone: code of another major architecture would be compiled on the spot. */
	image->binary_version = elf_fits(arch, cc) ? arch : cc;
	result = read_cubin(image, bytes, size);
	if (result == CUDA_SUCCESS && !has_code && size == SG_IMAGE_UNSIZED)
		result = read_origin(image, bytes, size);
	return result;
}

static CUresult read_ptx(struct sg_image *image, const char *text, size_t size, int cc)
{
	int arch;

	size = size == SG_IMAGE_UNSIZED ? strlen(text) : strnlen(text, size);
	arch = sg_image_ptx_get_arch(text, size);
	if (!arch)
		return CUDA_ERROR_INVALID_PTX;
	if (arch > cc)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	image->ptx_version = arch;
	image->binary_version = cc;
	return sg_image_ptx_read(image, text, size);
}

/* The first four bytes, one by one: text may end before the fourth. */
static bool has_magic(const unsigned char *bytes, size_t size, uint32_t magic)
{
	for (size_t i = 0; i < sizeof(magic); i++)
		if (i == size || bytes[i] != (unsigned char)(magic >> (8 * i)))
			return false;
	return true;
}

static CUresult read_any(struct sg_image *image, const unsigned char *bytes, size_t size, int cc)
{
	if (size == SG_IMAGE_UNSIZED && has_magic(bytes, size, WRAPPER_MAGIC)) {
		/* int magic, int version, then a pointer to the fat binary. */
		bytes = (const unsigned char *)(uintptr_t)get_u64(bytes + 8);
		if (!bytes)
			return CUDA_ERROR_INVALID_IMAGE;
	}
	if (has_magic(bytes, size, FAT_MAGIC))
		return read_fat(image, bytes, size, cc);
	if (sg_image_elf_is(bytes, size))
		return read_elf(image, bytes, size, cc);
	if (sg_image_ptx_is((const char *)bytes, size))
		return read_ptx(image, (const char *)bytes, size, cc);
	return CUDA_ERROR_INVALID_IMAGE;
}

CUresult sg_image_open(struct sg_image **image, const void *bytes, size_t size, int cc)
{
	struct sg_image *new_image = calloc(1, sizeof(*new_image));
	CUresult result;

	if (!new_image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = read_any(new_image, bytes, size, cc);
	if (result != CUDA_SUCCESS)
		sg_image_close(new_image);
	else
		*image = new_image;
	return result;
}

void sg_image_close(struct sg_image *image)
{
	if (!image)
		return;
	for (uint32_t i = 0; i < image->variable_names.nr_names; i++)
		free((void *)(uintptr_t)image->variables[i].data);
	free(image->variables);
	sg_name_table_fini(&image->variable_names);
	sg_name_table_fini(&image->kernels);
	free(image->needs);
	free(image);
}
