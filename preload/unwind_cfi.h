#ifndef VS_UNWIND_CFI_H
#define VS_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Call frame information as it lies in .eh_frame: the row of the table (DWARF 5, section 6.4) that
 * belongs to one instruction. Format: Linux Standard Base, Core, section "Exception Frames".
 *
 * Reads nothing outside the bytes it is given, whatever they are: the library they come from may be
 * damaged, and a program that runs with it must not be harmed by being looked at. No memory, no
 * lock. Any thread.
 */

/* Bytes that may be read. */
struct vs_unwind_cfi_bytes {
	const uint8_t *start;
	const uint8_t *end;
};

/* Registers that are of interest; which ones these are in DWARF's count: unwind_arch.h. */
enum vs_unwind_cfi_register {
	VS_UNWIND_CFI_SP,
	VS_UNWIND_CFI_BP,
	VS_UNWIND_CFI_RETURN,
	VS_UNWIND_CFI_NR_REGISTERS,
};

/* Where the caller's value of a register is. */
enum vs_unwind_cfi_place {
	VS_UNWIND_CFI_UNSAID,     /* by convention: not changed, or the CFA if it is sp */
	VS_UNWIND_CFI_SAME,       /* not changed */
	VS_UNWIND_CFI_UNDEFINED,  /* lost */
	VS_UNWIND_CFI_AT_CFA,     /* *(CFA + offset) */
	VS_UNWIND_CFI_EXPRESSION, /* *(what the expression yields) */
	VS_UNWIND_CFI_OTHER,      /* in another register, or computed */
};

struct vs_unwind_cfi_rule {
	enum vs_unwind_cfi_place place;
	int64_t offset;
	struct vs_unwind_cfi_bytes expression;
};

struct vs_unwind_cfi_row {
	/* CFA = register + offset; or what the expression yields, if there is one */
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct vs_unwind_cfi_bytes cfa_expression; /* start NULL: none */
	struct vs_unwind_cfi_rule registers[VS_UNWIND_CFI_NR_REGISTERS];
	bool is_signal; /* the frame of the code that a signal handler returns to */
};

enum vs_unwind_cfi_result {
	VS_UNWIND_CFI_FOUND,
	VS_UNWIND_CFI_NONE,    /* the entry is about other code */
	VS_UNWIND_CFI_UNKNOWN, /* damaged, or of a kind that we do not know */
};

/*
 * The row for the instruction at pc. entry: where in bytes its entry (FDE) is said to begin; the
 * CIE that goes with it must be in the same bytes. *row is written only if found; it points into
 * the bytes.
 */
enum vs_unwind_cfi_result vs_unwind_cfi_read(const struct vs_unwind_cfi_bytes *bytes,
					     uintptr_t entry, uintptr_t pc,
					     struct vs_unwind_cfi_row *row);

/*
 * Looks up pc in .eh_frame_hdr, which begins at header: where the entry of the code that begins
 * last before pc lies.
 */
enum vs_unwind_cfi_result vs_unwind_cfi_find_entry(const struct vs_unwind_cfi_bytes *bytes,
						   uintptr_t header, uintptr_t pc,
						   uintptr_t *entry);

/* A signed LEB128 number that lies alone in [*at, end) or is followed by others; *at moves on. */
bool vs_unwind_cfi_get_signed(const uint8_t **at, const uint8_t *end, int64_t *value);

#endif
