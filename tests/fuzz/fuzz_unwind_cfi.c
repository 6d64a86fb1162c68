/*
 * libFuzzer: any bytes as .eh_frame and its table; or only as the instructions of an entry that is
 * otherwise right, so that they are reached at all.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind_arch.h"
#include "unwind_cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Code from 0x1000 on, 0x10000 bytes; instructions of both kinds follow their heads. */
static const uint8_t common_head[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0};
static const uint8_t entry_head[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0,
				     0, 0, 0, 0, 0, 1, 0, 0, 0, 0,    0, 0};

static void put_word(uint8_t *at, size_t value)
{
	uint32_t word = (uint32_t)value;

	memcpy(at, &word, sizeof(word));
}

/* nr_common of the bytes are the CIE's, the others the entry's. */
static uint8_t *wrap(const uint8_t *data, size_t size, size_t nr_common, size_t *wrapped_size)
{
	size_t common_size = sizeof(common_head) + nr_common;
	uint8_t *bytes;

	*wrapped_size = common_size + sizeof(entry_head) + size - nr_common;
	bytes = malloc(*wrapped_size);
	if (!bytes)
		abort();
	memcpy(bytes, common_head, sizeof(common_head));
	memcpy(bytes + sizeof(common_head), data, nr_common);
	memcpy(bytes + common_size, entry_head, sizeof(entry_head));
	memcpy(bytes + common_size + sizeof(entry_head), data + nr_common, size - nr_common);
	put_word(bytes, common_size - 4);
	put_word(bytes + common_size, *wrapped_size - common_size - 4);
	put_word(bytes + common_size + 4, common_size + 4);
	return bytes;
}

static void read_row(const struct vs_unwind_cfi_bytes *bytes, uintptr_t entry, uintptr_t pc)
{
	struct vs_unwind_cfi_row row;

	if (vs_unwind_cfi_read(bytes, entry, pc, &row) == VS_UNWIND_CFI_FOUND &&
	    vs_unwind_rule_kind(vs_unwind_arch_make_rule(&row, pc)) > VS_UNWIND_FOREIGN)
		abort();
}

static void read_wrapped(const uint8_t *data, size_t size, size_t nr_common, uint16_t offset)
{
	size_t wrapped_size;
	uint8_t *copy = wrap(data, size, nr_common, &wrapped_size);
	struct vs_unwind_cfi_bytes bytes = {.start = copy, .end = copy + wrapped_size};

	read_row(&bytes, (uintptr_t)copy + sizeof(common_head) + nr_common, 0x1000u + offset);
	free(copy);
}

static void read_raw(const uint8_t *data, size_t size, uint16_t place, uint16_t offset)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct vs_unwind_cfi_bytes bytes = {.start = copy, .end = copy + size};
	uintptr_t entry;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	read_row(&bytes, (uintptr_t)copy + place, offset);
	if (vs_unwind_cfi_find_entry(&bytes, (uintptr_t)copy + place % 8, (uintptr_t)copy + offset,
				     &entry) == VS_UNWIND_CFI_FOUND)
		read_row(&bytes, entry, (uintptr_t)copy + offset);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t head[2];

	if (size < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	data += sizeof(head);
	size -= sizeof(head);
	read_raw(data, size, head[0], head[1]);
	read_wrapped(data, size, size ? head[0] % 8 % size : 0, head[1]);
	return 0;
}
