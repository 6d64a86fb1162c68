/*
 * The container nvcc wraps device code in, as far as its headers are readable: which architectures
 * are in it, and the image of one of them when it is stored as it is. Payloads may be compressed;
 * their headers never are.
 *
 *   wrapper  { u32 magic; u32 version; const void *data; ... }          fatbinary_section.h
 *   data     { u32 magic; u16 version; u16 header_size; u64 size; }     then entries, size bytes
 *   entry    { u16 kind; u16 version; u32 header_size; u64 payload_size; ... u32 arch at 28;
 *             ... u32 flags at 40; ... }
 */
#include "rt_fatbin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WRAPPER_MAGIC       0x466243b1u
#define DATA_MAGIC          0xba55ed50u
#define DATA_HEADER_SIZE    16u
#define ENTRY_HEADER_SIZE   64u
#define ENTRY_HEADER_OFFSET 4
#define ENTRY_SIZE_OFFSET   8
#define ENTRY_ARCH_OFFSET   28
#define ENTRY_FLAGS_OFFSET  40
#define FLAG_ONE_ARCH       0x100000u /* sm_90a, compute_90a: for that device and no other */
#define FLAG_FAMILY         0x200000u /* sm_100f, compute_100f: for its major version */

/* In order of preference. */
enum entry_kind {
	KIND_PTX = 1,
	KIND_ELF = 2,
};

struct wrapper {
	uint32_t magic;
	uint32_t version;
	const unsigned char *data;
};

struct entry {
	uint16_t kind;
	uint32_t header_size;
	uint32_t arch;
	uint32_t flags;
	uint64_t payload_size;
	const unsigned char *payload;
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

/* Reads the entry at p; false unless all of it lies before end. */
static bool read_entry(const unsigned char *p, const unsigned char *end, struct entry *entry)
{
	uint64_t left = (uint64_t)(end - p);

	if (left < ENTRY_HEADER_SIZE)
		return false;
	entry->kind = get_u16(p);
	entry->header_size = get_u32(p + ENTRY_HEADER_OFFSET);
	entry->payload_size = get_u64(p + ENTRY_SIZE_OFFSET);
	entry->arch = get_u32(p + ENTRY_ARCH_OFFSET);
	entry->flags = get_u32(p + ENTRY_FLAGS_OFFSET);
	if (entry->header_size < ENTRY_HEADER_SIZE || entry->header_size > left)
		return false;
	if (entry->payload_size > left - entry->header_size)
		return false;
	entry->payload = p + entry->header_size;
	return true;
}

/*
 * Machine code runs on later devices of its own major version, PTX on every later device, unless it
 * was made for fewer.
 */
static bool runs_on(const struct entry *entry, unsigned device_arch)
{
	bool is_narrow = entry->kind == KIND_ELF || (entry->flags & FLAG_FAMILY);

	if (entry->flags & FLAG_ONE_ARCH)
		return entry->arch == device_arch;
	if (entry->arch > device_arch)
		return false;
	return !is_narrow || entry->arch / 10 == device_arch / 10;
}

static bool is_cubin(const struct entry *entry)
{
	return entry->kind == KIND_ELF && entry->payload_size >= sizeof(Elf64_Ehdr) &&
	       !memcmp(entry->payload, ELFMAG, SELFMAG);
}

/* The entries of the container, or false. */
static bool open_container(const void *address, const unsigned char **first,
			   const unsigned char **end)
{
	const struct wrapper *wrapper = address;
	uint16_t header_size;
	uint64_t size;

	if (!wrapper || wrapper->magic != WRAPPER_MAGIC || !wrapper->data ||
	    get_u32(wrapper->data) != DATA_MAGIC)
		return false;
	header_size = get_u16(wrapper->data + 6);
	size = get_u64(wrapper->data + 8);
	if (header_size < DATA_HEADER_SIZE || size > (uint64_t)PTRDIFF_MAX - header_size)
		return false;
	*first = wrapper->data + header_size;
	*end = *first + size;
	return true;
}

/* Of two that run; the second may be none at all. */
static bool is_better(const struct entry *entry, const struct entry *than)
{
	return entry->kind == than->kind ? entry->arch > than->arch : entry->kind > than->kind;
}

static void fill_choice(struct sg_rt_fatbin_choice *choice, const struct entry *best,
			const struct entry *readable, unsigned device_arch)
{
	*choice = (struct sg_rt_fatbin_choice){
		.arch = best->kind == KIND_ELF ? best->arch : device_arch,
		.ptx_arch = best->arch,
		.cubin = readable->payload,
		.cubin_size = readable->payload_size,
	};
}

enum sg_rt_fatbin_fit sg_rt_fatbin_choose(const void *wrapper, unsigned device_arch,
					  struct sg_rt_fatbin_choice *choice)
{
	struct entry entry, best = {0}, readable = {0};
	enum sg_rt_fatbin_fit fit = SG_RT_FATBIN_UNREADABLE;
	const unsigned char *p, *end;

	if (!open_container(wrapper, &p, &end))
		return SG_RT_FATBIN_UNREADABLE;
	for (; read_entry(p, end, &entry); p = entry.payload + entry.payload_size) {
		if (entry.kind != KIND_PTX && entry.kind != KIND_ELF)
			continue; /* other intermediate forms say nothing here */
		if (!readable.payload && is_cubin(&entry))
			readable = entry;
		if (fit == SG_RT_FATBIN_UNREADABLE)
			fit = SG_RT_FATBIN_NO_IMAGE;
		if (!runs_on(&entry, device_arch))
			continue;
		fit = SG_RT_FATBIN_FITS;
		if (is_better(&entry, &best))
			best = entry;
	}
	if (fit == SG_RT_FATBIN_FITS)
		fill_choice(choice, &best, is_cubin(&best) ? &best : &readable, device_arch);
	return fit;
}
