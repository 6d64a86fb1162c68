#ifndef SG_FAKE_FATBIN_H
#define SG_FAKE_FATBIN_H

/*
 * Fat binaries made by hand, as nvcc lays them out: a wrapper, a container, entries. For tests that
 * must work without nvcc.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FAKE_ROOM 65536

enum fake_kind {
	FAKE_PTX = 1,
	FAKE_ELF = 2,
};

struct fake_fatbin {
	struct {
		uint32_t magic, version;
		const void *data;
		void *unused;
	} wrapper;
	/* Aligned as the linker aligns the section. */
	unsigned char data[FAKE_ROOM] __attribute__((aligned(8)));
	size_t used; /* bytes of entries */
};

/* In the flags of an entry: for one device alone, for one major version. */
#define FAKE_ONE_ARCH 0x100000u
#define FAKE_FAMILY   0x200000u

static inline void fake_fatbin_init(struct fake_fatbin *fatbin)
{
	uint32_t magic = 0xba55ed50;
	uint16_t header[2] = {1, 16};

	memset(fatbin, 0, sizeof(*fatbin));
	fatbin->wrapper.magic = 0x466243b1;
	fatbin->wrapper.version = 1;
	fatbin->wrapper.data = fatbin->data;
	memcpy(fatbin->data, &magic, sizeof(magic));
	memcpy(fatbin->data + 4, header, sizeof(header));
}

static inline void fake_fatbin_add(struct fake_fatbin *fatbin, enum fake_kind kind, uint32_t arch,
				   const void *payload, size_t size)
{
	unsigned char *entry = fatbin->data + 16 + fatbin->used;
	uint16_t head[2] = {(uint16_t)kind, 0x101};
	uint32_t header_size = 64;
	uint64_t payload_size = (size + 7) / 8 * 8, total;

	assert(16 + fatbin->used + 64 + payload_size <= FAKE_ROOM);
	memcpy(entry, head, sizeof(head));
	memcpy(entry + 4, &header_size, sizeof(header_size));
	memcpy(entry + 8, &payload_size, sizeof(payload_size));
	memcpy(entry + 28, &arch, sizeof(arch));
	if (size)
		memcpy(entry + 64, payload, size);
	fatbin->used += 64 + payload_size;
	total = fatbin->used;
	memcpy(fatbin->data + 8, &total, sizeof(total));
}

/* Set the flags of the entry that was added last, which has size bytes. */
static inline void fake_fatbin_set_flags(struct fake_fatbin *fatbin, size_t size, uint32_t flags)
{
	unsigned char *end = fatbin->data + 16 + fatbin->used;

	memcpy(end - (size + 7) / 8 * 8 - 64 + 40, &flags, sizeof(flags));
}

#endif
