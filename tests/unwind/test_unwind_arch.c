#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind_arch.h"

#define SP 7
#define BP 6

static struct vs_unwind_cfi_bytes span(const void *bytes, size_t size)
{
	return (struct vs_unwind_cfi_bytes){.start = bytes, .end = (const uint8_t *)bytes + size};
}

/* A function as compilers make it, right behind its first push. */
static struct vs_unwind_cfi_row make_row(void)
{
	struct vs_unwind_cfi_row row = {.cfa_register = SP, .cfa_offset = 16};

	row.registers[VS_UNWIND_CFI_RETURN].place = VS_UNWIND_CFI_AT_CFA;
	row.registers[VS_UNWIND_CFI_RETURN].offset = -8;
	return row;
}

static void assert_kind(const struct vs_unwind_cfi_row *row, enum vs_unwind_kind kind)
{
	assert_int_equal(vs_unwind_rule_kind(vs_unwind_arch_make_rule(row, 0x1000)), kind);
}

static void test_rules_hold_what_was_put_into_them(void **state)
{
	static const int32_t cfa_offsets[] = {0, 8, -8, INT32_MAX, INT32_MIN};
	static const int16_t bp_offsets[] = {0, -16, INT16_MAX, INT16_MIN};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 4; k++) {
			uint64_t rule = vs_unwind_rule_make(VS_UNWIND_BP_LOAD, cfa_offsets[i],
							    VS_UNWIND_BP_AT_BP, bp_offsets[k]);

			assert_int_equal(vs_unwind_rule_kind(rule), VS_UNWIND_BP_LOAD);
			assert_int_equal(vs_unwind_rule_bp(rule), VS_UNWIND_BP_AT_BP);
			assert_int_equal((int64_t)vs_unwind_rule_cfa_offset(rule), cfa_offsets[i]);
			assert_int_equal((int64_t)vs_unwind_rule_bp_offset(rule), bp_offsets[k]);
		}
	}
}

static void test_the_usual_functions(void **state)
{
	struct vs_unwind_cfi_row row = make_row();
	uint64_t rule;

	(void)state;
	assert_int_equal(vs_unwind_arch_make_rule(&row, 0),
			 vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_KEPT, 0));
	row.registers[VS_UNWIND_CFI_BP].place = VS_UNWIND_CFI_SAME;
	assert_int_equal(vs_unwind_arch_make_rule(&row, 0),
			 vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_KEPT, 0));
	row.registers[VS_UNWIND_CFI_BP].place = VS_UNWIND_CFI_AT_CFA;
	row.registers[VS_UNWIND_CFI_BP].offset = -16;
	rule = vs_unwind_arch_make_rule(&row, 0);
	assert_int_equal(rule, vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_AT_CFA, -16));
	row.cfa_register = BP;
	rule = vs_unwind_arch_make_rule(&row, 0);
	assert_int_equal(rule, vs_unwind_rule_make(VS_UNWIND_BP, 16, VS_UNWIND_BP_AT_CFA, -16));
}

static void test_a_function_that_aligned_its_stack(void **state)
{
	static const uint8_t cfa[] = {0x76, 0x58, 0x06}, bp[] = {0x76, 0x00};
	struct vs_unwind_cfi_row row = make_row();

	(void)state;
	row.cfa_expression = span(cfa, sizeof(cfa));
	row.registers[VS_UNWIND_CFI_BP].place = VS_UNWIND_CFI_EXPRESSION;
	row.registers[VS_UNWIND_CFI_BP].expression = span(bp, sizeof(bp));
	assert_int_equal(vs_unwind_arch_make_rule(&row, 0),
			 vs_unwind_rule_make(VS_UNWIND_BP_LOAD, -40, VS_UNWIND_BP_AT_BP, 0));
	/* Any other expression is beyond us. */
	row.cfa_expression = span(cfa, 2);
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row.cfa_expression = span(cfa, 1);
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row.cfa_expression = span(cfa, 0);
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row.cfa_expression = (struct vs_unwind_cfi_bytes){0};
	row.registers[VS_UNWIND_CFI_BP].expression = span(cfa, 3);
	assert_kind(&row, VS_UNWIND_FOREIGN);
}

static void test_stubs_of_a_linkage_table(void **state)
{
	static const uint8_t stub[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	uint8_t other[sizeof(stub)];
	struct vs_unwind_cfi_row row = make_row();

	(void)state;
	row.cfa_expression = span(stub, sizeof(stub));
	/* The push ends at its eleventh byte. */
	for (uint64_t pc = 0x1000; pc < 0x1020; pc++)
		assert_int_equal(vs_unwind_arch_make_rule(&row, pc),
				 vs_unwind_rule_make(VS_UNWIND_SP, pc % 16 >= 11 ? 16 : 8,
						     VS_UNWIND_BP_KEPT, 0));
	memcpy(other, stub, sizeof(stub));
	other[6] = 0x3a; /* a linker that guards against jumps has shorter ones */
	row.cfa_expression = span(other, sizeof(other));
	assert_int_equal(vs_unwind_rule_cfa_offset(vs_unwind_arch_make_rule(&row, 0x100a)), 16);
	for (size_t i = 0; i < sizeof(stub); i++) {
		if (i == 6)
			continue;
		memcpy(other, stub, sizeof(stub));
		other[i] ^= 0x40;
		assert_kind(&row, VS_UNWIND_FOREIGN);
	}
	other[6] = 0x91;
	assert_kind(&row, VS_UNWIND_FOREIGN);
}

static void test_the_end_of_a_stack(void **state)
{
	struct vs_unwind_cfi_row row = make_row();

	(void)state;
	row.registers[VS_UNWIND_CFI_RETURN].place = VS_UNWIND_CFI_UNDEFINED;
	assert_kind(&row, VS_UNWIND_END);
}

static void test_what_is_beyond_a_rule(void **state)
{
	struct vs_unwind_cfi_row row = make_row();

	(void)state;
	row.cfa_register = 3;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row = make_row();
	row.cfa_offset = (int64_t)INT32_MAX + 1;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row = make_row();
	row.registers[VS_UNWIND_CFI_RETURN].offset = -16;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row = make_row();
	row.registers[VS_UNWIND_CFI_RETURN].place = VS_UNWIND_CFI_SAME;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row = make_row();
	row.registers[VS_UNWIND_CFI_SP].place = VS_UNWIND_CFI_AT_CFA;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row = make_row();
	row.registers[VS_UNWIND_CFI_BP].place = VS_UNWIND_CFI_OTHER;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row.registers[VS_UNWIND_CFI_BP].place = VS_UNWIND_CFI_UNDEFINED;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row.registers[VS_UNWIND_CFI_BP].place = VS_UNWIND_CFI_AT_CFA;
	row.registers[VS_UNWIND_CFI_BP].offset = INT16_MIN - 1;
	assert_kind(&row, VS_UNWIND_FOREIGN);
}

/* As glibc describes its __restore_rt. */
static void test_only_the_kernels_frame_is_a_signal_frame(void **state)
{
	static const uint8_t cfa[] = {0x77, 0xa0, 0x01, 0x06}, sp[] = {0x77, 0xa0, 0x01},
			     bp[] = {0x77, 0xf8, 0x00}, pc[] = {0x77, 0xa8, 0x01};
	struct vs_unwind_cfi_row row = {.is_signal = true, .cfa_expression = span(cfa, 4)};

	(void)state;
	for (int i = 0; i < VS_UNWIND_CFI_NR_REGISTERS; i++)
		row.registers[i].place = VS_UNWIND_CFI_EXPRESSION;
	row.registers[VS_UNWIND_CFI_SP].expression = span(sp, 3);
	row.registers[VS_UNWIND_CFI_BP].expression = span(bp, 3);
	row.registers[VS_UNWIND_CFI_RETURN].expression = span(pc, 3);
	assert_kind(&row, VS_UNWIND_SIGNAL);
	row.registers[VS_UNWIND_CFI_BP].expression = span(sp, 3);
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row.registers[VS_UNWIND_CFI_BP].place = VS_UNWIND_CFI_SAME;
	assert_kind(&row, VS_UNWIND_FOREIGN);
	row = make_row();
	row.is_signal = true;
	assert_kind(&row, VS_UNWIND_FOREIGN);
}

static void assert_code(const char *code, bool is_loose, uint64_t rule)
{
	uint8_t bytes[VS_UNWIND_ARCH_CODE_SIZE] = {0};

	memcpy(bytes, code, VS_UNWIND_ARCH_CODE_SIZE);
	assert_int_equal(vs_unwind_arch_recognise(bytes, is_loose), rule);
}

static void test_code_that_is_known_by_its_looks(void **state)
{
	uint64_t bare = vs_unwind_rule_bare(VS_UNWIND_BARE);
	uint64_t signal = vs_unwind_rule_bare(VS_UNWIND_SIGNAL);

	(void)state;
	/* rt_sigreturn, wherever it is; another call of the system. */
	assert_code("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", false, signal);
	assert_code("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", true, signal);
	assert_code("\x48\xc7\xc0\x0e\0\0\0\x0f\x05", true, bare);
	/* Python's trampolines; not inside of a library. */
	assert_code("\x48\x83\xc4\x08\xc3\0\0\0", true,
		    vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_KEPT, 0));
	assert_code("\x48\x83\xc4\x18\xc3\0\0\0", true,
		    vs_unwind_rule_make(VS_UNWIND_SP, 32, VS_UNWIND_BP_KEPT, 0));
	assert_code("\x5d\xc3\0\0\0\0\0\0", true,
		    vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_AT_CFA, -16));
	assert_code("\x48\x83\xc4\x08\xc3\0\0\0", false, bare);
	assert_code("\x5d\xc3\0\0\0\0\0\0", false, bare);
	/* Almost. */
	assert_code("\x48\x83\xc4\x08\xc2\0\0\0", true, bare);
	assert_code("\x48\x83\xc4\x88\xc3\0\0\0", true, bare);
	assert_code("\x48\x83\xc4\x04\xc3\0\0\0", true, bare);
	assert_code("\x48\x83\xec\x08\xc3\0\0\0", true, bare);
	assert_code("\x5d\x90\xc3\0\0\0\0\0", true, bare);
	assert_code("\0\0\0\0\0\0\0\0", true, bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_hold_what_was_put_into_them),
		cmocka_unit_test(test_the_usual_functions),
		cmocka_unit_test(test_a_function_that_aligned_its_stack),
		cmocka_unit_test(test_stubs_of_a_linkage_table),
		cmocka_unit_test(test_the_end_of_a_stack),
		cmocka_unit_test(test_what_is_beyond_a_rule),
		cmocka_unit_test(test_only_the_kernels_frame_is_a_signal_frame),
		cmocka_unit_test(test_code_that_is_known_by_its_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
