#include "unwind_arch.h"

#include <string.h>

#if defined(__x86_64__)

/* Operations of DWARF expressions (DWARF 5, section 7.7.1). */
enum {
	OP_DEREF = 0x06,
	OP_BREG0 = 0x70, /* + number of the register; a signed offset follows */
};

/* register + *offset, then the operations behind it: as many as size says. */
static bool is_register_offset(const struct vs_unwind_cfi_bytes *expression, unsigned number,
			       int64_t *offset, size_t size)
{
	const uint8_t *at = expression->start;

	if (!at || at == expression->end || *at++ != OP_BREG0 + number)
		return false;
	return vs_unwind_cfi_get_signed(&at, expression->end, offset) &&
	       (size_t)(expression->end - at) == size;
}

static bool is_loaded_from(const struct vs_unwind_cfi_bytes *expression, unsigned number,
			   int64_t *offset)
{
	return is_register_offset(expression, number, offset, 1) && expression->end[-1] == OP_DEREF;
}

/*
 * Linkers describe all stubs of a .plt at once: CFA = rsp + 8 + ((rip & 15) >= n) * 8, because the
 * n-th byte of each is behind a push.
 */
static bool is_stub(const struct vs_unwind_cfi_bytes *expression, uint64_t pc, int64_t *offset)
{
	/* breg7 8, breg16 0, lit15, and, lit<n>, ge, lit3, shl, plus */
	static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
	static const uint8_t after[] = {0x2a, 0x33, 0x24, 0x22};
	const uint8_t *at = expression->start;
	uint8_t limit;

	if (!at || (size_t)(expression->end - at) != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(at, before, sizeof(before)) != 0 ||
	    memcmp(at + sizeof(before) + 1, after, sizeof(after)) != 0)
		return false;
	limit = (uint8_t)(at[sizeof(before)] - 0x30); /* lit0 */
	if (limit > 31)
		return false;
	*offset = (pc & 15) >= limit ? 16 : 8;
	return true;
}

/* Whether it is what rt_sigreturn expects; others call signal frames what is none of the kernel's.
 */
static bool is_signal(const struct vs_unwind_cfi_row *row)
{
	static const int64_t offsets[VS_UNWIND_CFI_NR_REGISTERS] = {
		[VS_UNWIND_CFI_SP] = VS_UNWIND_ARCH_SIGNAL_SP,
		[VS_UNWIND_CFI_BP] = VS_UNWIND_ARCH_SIGNAL_BP,
		[VS_UNWIND_CFI_RETURN] = VS_UNWIND_ARCH_SIGNAL_PC,
	};
	int64_t offset;

	if (!is_loaded_from(&row->cfa_expression, VS_UNWIND_ARCH_DWARF_SP, &offset) ||
	    offset != VS_UNWIND_ARCH_SIGNAL_SP)
		return false;
	for (unsigned i = 0; i < VS_UNWIND_CFI_NR_REGISTERS; i++) {
		const struct vs_unwind_cfi_rule *rule = &row->registers[i];

		if (rule->place != VS_UNWIND_CFI_EXPRESSION ||
		    !is_register_offset(&rule->expression, VS_UNWIND_ARCH_DWARF_SP, &offset, 0) ||
		    offset != offsets[i])
			return false;
	}
	return true;
}

static bool find_cfa(const struct vs_unwind_cfi_row *row, uint64_t pc, enum vs_unwind_kind *kind,
		     int64_t *offset)
{
	const struct vs_unwind_cfi_bytes *expression = &row->cfa_expression;

	*offset = row->cfa_offset;
	if (!expression->start) {
		*kind = row->cfa_register == VS_UNWIND_ARCH_DWARF_SP ? VS_UNWIND_SP : VS_UNWIND_BP;
		return row->cfa_register == VS_UNWIND_ARCH_DWARF_SP ||
		       row->cfa_register == VS_UNWIND_ARCH_DWARF_BP;
	}
	/* A function that aligned its stack keeps where it came from. */
	if (is_loaded_from(expression, VS_UNWIND_ARCH_DWARF_BP, offset)) {
		*kind = VS_UNWIND_BP_LOAD;
		return true;
	}
	*kind = VS_UNWIND_SP;
	return is_stub(expression, pc, offset);
}

static bool find_bp(const struct vs_unwind_cfi_rule *rule, enum vs_unwind_bp *bp, int64_t *offset)
{
	*offset = rule->offset;
	switch (rule->place) {
	case VS_UNWIND_CFI_UNSAID:
	case VS_UNWIND_CFI_SAME:
		*bp = VS_UNWIND_BP_KEPT;
		return true;
	case VS_UNWIND_CFI_AT_CFA:
		*bp = VS_UNWIND_BP_AT_CFA;
		return true;
	case VS_UNWIND_CFI_EXPRESSION:
		*bp = VS_UNWIND_BP_AT_BP;
		return is_register_offset(&rule->expression, VS_UNWIND_ARCH_DWARF_BP, offset, 0);
	default:
		return false;
	}
}

uint64_t vs_unwind_arch_make_rule(const struct vs_unwind_cfi_row *row, uint64_t pc)
{
	const struct vs_unwind_cfi_rule *link = &row->registers[VS_UNWIND_CFI_RETURN];
	int64_t cfa_offset, bp_offset;
	enum vs_unwind_kind kind;
	enum vs_unwind_bp bp;

	if (link->place == VS_UNWIND_CFI_UNDEFINED)
		return vs_unwind_rule_bare(VS_UNWIND_END);
	if (row->is_signal)
		return vs_unwind_rule_bare(is_signal(row) ? VS_UNWIND_SIGNAL : VS_UNWIND_FOREIGN);
	if (link->place != VS_UNWIND_CFI_AT_CFA || link->offset != -VS_UNWIND_ARCH_RETURN_SIZE ||
	    row->registers[VS_UNWIND_CFI_SP].place != VS_UNWIND_CFI_UNSAID ||
	    !find_cfa(row, pc, &kind, &cfa_offset) ||
	    !find_bp(&row->registers[VS_UNWIND_CFI_BP], &bp, &bp_offset) ||
	    cfa_offset != (int32_t)cfa_offset || bp_offset != (int16_t)bp_offset)
		return vs_unwind_rule_bare(VS_UNWIND_FOREIGN);
	return vs_unwind_rule_make(kind, (int32_t)cfa_offset, bp, (int16_t)bp_offset);
}

uint64_t vs_unwind_arch_recognise(const uint8_t code[VS_UNWIND_ARCH_CODE_SIZE], bool is_loose)
{
	/* mov $15,%rax; syscall: rt_sigreturn, in a program that brings its own */
	static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	if (memcmp(code, sigreturn, sizeof(sigreturn)) == 0)
		return vs_unwind_rule_bare(VS_UNWIND_SIGNAL);
	if (!is_loose)
		return vs_unwind_rule_bare(VS_UNWIND_BARE);
	/*
	 * What python -X perf puts between two Python frames. Since 3.12: sub $8,%rsp; call; add
	 * $8,%rsp; ret. Since 3.13: push %rbp; mov %rsp,%rbp; call; pop %rbp; ret.
	 */
	if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[3] < 0x80 &&
	    code[3] % 8 == 0 && code[4] == 0xc3)
		return vs_unwind_rule_make(VS_UNWIND_SP, code[3] + 8, VS_UNWIND_BP_KEPT, 0);
	if (code[0] == 0x5d && code[1] == 0xc3)
		return vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_AT_CFA, -16);
	return vs_unwind_rule_bare(VS_UNWIND_BARE);
}

#else

uint64_t vs_unwind_arch_make_rule(const struct vs_unwind_cfi_row *row, uint64_t pc)
{
	(void)row;
	(void)pc;
	return vs_unwind_rule_bare(VS_UNWIND_FOREIGN);
}

uint64_t vs_unwind_arch_recognise(const uint8_t code[VS_UNWIND_ARCH_CODE_SIZE], bool is_loose)
{
	(void)code;
	(void)is_loose;
	return vs_unwind_rule_bare(VS_UNWIND_FOREIGN);
}

#endif
