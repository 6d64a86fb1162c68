#include "cfi_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

void cfi_maker_init(struct cfi_maker *maker)
{
	uint8_t *pages =
		mmap(NULL, 3 * CFI_MAKER_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	memset(maker, 0, sizeof(*maker));
	maker->page = pages + CFI_MAKER_SIZE;
	assert_int_equal(mprotect(maker->page, CFI_MAKER_SIZE, PROT_READ | PROT_WRITE), 0);
}

void cfi_maker_fini(struct cfi_maker *maker)
{
	munmap(maker->page - CFI_MAKER_SIZE, 3 * CFI_MAKER_SIZE);
}

void cfi_maker_put(struct cfi_maker *maker, const void *bytes, size_t size)
{
	assert_true(maker->size + size <= CFI_MAKER_SIZE);
	memcpy(maker->bytes + maker->size, bytes, size);
	maker->size += size;
}

void cfi_maker_put_word(struct cfi_maker *maker, uint64_t value, size_t size)
{
	cfi_maker_put(maker, &value, size);
}

void cfi_maker_begin_common(struct cfi_maker *maker, unsigned version, const char *letters,
			    const uint8_t *data, size_t data_size)
{
	maker->open = maker->size;
	cfi_maker_put_word(maker, 0, 4); /* length */
	cfi_maker_put_word(maker, 0, 4); /* a CIE */
	cfi_maker_put_word(maker, version, 1);
	cfi_maker_put(maker, letters, strlen(letters) + 1);
	if (version == 4)
		CFI_PUT(maker, 8, 0); /* size of an address, of a segment */
	CFI_PUT(maker, 1, 0x78, 16);  /* code alignment 1, data alignment -8, return address */
	if (letters[0] == 'z') {
		cfi_maker_put_word(maker, data_size, 1);
		cfi_maker_put(maker, data, data_size);
	}
}

void cfi_maker_begin_entry(struct cfi_maker *maker)
{
	maker->open = maker->entry = maker->size;
	cfi_maker_put_word(maker, 0, 4);
	cfi_maker_put_word(maker, maker->size, 4); /* how far back the CIE is */
}

void cfi_maker_end(struct cfi_maker *maker)
{
	uint32_t length = (uint32_t)(maker->size - maker->open - 4);

	memcpy(maker->bytes + maker->open, &length, 4);
}

void cfi_maker_put_usual_common(struct cfi_maker *maker)
{
	static const uint8_t encoding[] = {0x00};

	cfi_maker_begin_common(maker, 1, "zR", encoding, sizeof(encoding));
	CFI_PUT(maker, 0x0c, 7, 8, 0x90, 1); /* def_cfa rsp 8, offset 16 at -8 */
	cfi_maker_end(maker);
}

void cfi_maker_begin_usual_entry(struct cfi_maker *maker, uint64_t start, uint64_t size)
{
	cfi_maker_begin_entry(maker);
	cfi_maker_put_word(maker, start, 8);
	cfi_maker_put_word(maker, size, 8);
	CFI_PUT(maker, 0); /* no augmentation data */
}

struct vs_unwind_cfi_bytes cfi_maker_place(struct cfi_maker *maker)
{
	uint8_t *end = maker->page + CFI_MAKER_SIZE;

	memcpy(end - maker->size, maker->bytes, maker->size);
	return (struct vs_unwind_cfi_bytes){.start = end - maker->size, .end = end};
}

enum vs_unwind_cfi_result cfi_maker_read(struct cfi_maker *maker, uint64_t pc,
					 struct vs_unwind_cfi_row *row)
{
	struct vs_unwind_cfi_bytes bytes = cfi_maker_place(maker);

	return vs_unwind_cfi_read(&bytes, (uintptr_t)bytes.start + maker->entry, pc, row);
}
