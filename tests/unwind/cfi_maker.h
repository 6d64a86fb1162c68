#ifndef VS_CFI_MAKER_H
#define VS_CFI_MAKER_H

#include <stddef.h>
#include <stdint.h>

#include "unwind_cfi.h"

/*
 * Call frame information by hand. The bytes lie directly before a page that cannot be read, and
 * begin right behind another one if they fill theirs: reading outside of them is a crash.
 */
#define CFI_MAKER_SIZE 4096

struct cfi_maker {
	uint8_t *page;
	uint8_t bytes[CFI_MAKER_SIZE];
	size_t size;
	size_t entry; /* offset of the last entry begun */
	size_t open;  /* offset of the length to be filled in */
};

/* Fails the test if there is no memory. */
void cfi_maker_init(struct cfi_maker *maker);
void cfi_maker_fini(struct cfi_maker *maker);

void cfi_maker_put(struct cfi_maker *maker, const void *bytes, size_t size);
#define CFI_PUT(maker, ...)                                    \
	cfi_maker_put((maker), (const uint8_t[]){__VA_ARGS__}, \
		      sizeof((const uint8_t[]){__VA_ARGS__}))
void cfi_maker_put_word(struct cfi_maker *maker, uint64_t value, size_t size);

/*
 * A CIE and an entry. letters and data: the augmentation; data may be empty. Instructions are put
 * between begin and end. The CIE of an entry is the one at offset 0.
 */
void cfi_maker_begin_common(struct cfi_maker *maker, unsigned version, const char *letters,
			    const uint8_t *data, size_t data_size);
void cfi_maker_begin_entry(struct cfi_maker *maker);
void cfi_maker_end(struct cfi_maker *maker);

/*
 * The CIE that compilers make for x86-64 ("zR", addresses in 8 bytes, CFA = rsp + 8, return address
 * at CFA - 8), and the entry for [start, start + size) up to its instructions.
 */
void cfi_maker_put_usual_common(struct cfi_maker *maker);
void cfi_maker_begin_usual_entry(struct cfi_maker *maker, uint64_t start, uint64_t size);

/* Where the bytes are now; what was put later is not in them. */
struct vs_unwind_cfi_bytes cfi_maker_place(struct cfi_maker *maker);

/* Reads the row for pc from the last entry. */
enum vs_unwind_cfi_result cfi_maker_read(struct cfi_maker *maker, uint64_t pc,
					 struct vs_unwind_cfi_row *row);

#endif
