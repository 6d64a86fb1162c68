#ifndef VS_UNWIND_ARCH_H
#define VS_UNWIND_ARCH_H

#include "unwind_cfi.h"
#include "unwind_rule.h"

/*
 * All that depends on the processor. A port gives numbers here and functions in unwind_arch.c;
 * where there is none every rule is VS_UNWIND_FOREIGN, and libunwind walks.
 */
#if defined(__x86_64__)
#define VS_UNWIND_ARCH_IS_KNOWN 1

/* Numbers of registers in DWARF: System V ABI, AMD64 supplement, figure 3.36. */
#define VS_UNWIND_ARCH_DWARF_BP     6
#define VS_UNWIND_ARCH_DWARF_SP     7
#define VS_UNWIND_ARCH_DWARF_RETURN 16

/* The return address lies this far below the CFA. */
#define VS_UNWIND_ARCH_RETURN_SIZE 8

/* What a function may use below sp: a register that was just popped still is where it was. */
#define VS_UNWIND_ARCH_RED_ZONE 128

/*
 * __builtin_frame_address(0) of a function: there its caller's bp is, and then its return address;
 * behind it begins the caller's stack.
 */
#define VS_UNWIND_ARCH_FRAME_BP     0
#define VS_UNWIND_ARCH_FRAME_RETURN 8
#define VS_UNWIND_ARCH_FRAME_SIZE   16

/*
 * Where a signal handler returns to, sp points at the kernel's struct ucontext: offsets of the
 * registers of the interrupted code in it.
 */
#define VS_UNWIND_ARCH_SIGNAL_BP 120
#define VS_UNWIND_ARCH_SIGNAL_SP 160
#define VS_UNWIND_ARCH_SIGNAL_PC 168
#else
#define VS_UNWIND_ARCH_IS_KNOWN     0
#define VS_UNWIND_ARCH_DWARF_BP     29
#define VS_UNWIND_ARCH_DWARF_SP     31
#define VS_UNWIND_ARCH_DWARF_RETURN 30
#define VS_UNWIND_ARCH_RETURN_SIZE  8
#define VS_UNWIND_ARCH_RED_ZONE     0
#define VS_UNWIND_ARCH_FRAME_BP     0
#define VS_UNWIND_ARCH_FRAME_RETURN 8
#define VS_UNWIND_ARCH_FRAME_SIZE   16
#define VS_UNWIND_ARCH_SIGNAL_BP    0
#define VS_UNWIND_ARCH_SIGNAL_SP    0
#define VS_UNWIND_ARCH_SIGNAL_PC    0
#endif

/* The rule that a row for the instruction at pc amounts to. Any thread. */
uint64_t vs_unwind_arch_make_rule(const struct vs_unwind_cfi_row *row, uint64_t pc);

/*
 * Code that nobody describes but that can be known by its looks. code: the first bytes behind the
 * call, VS_UNWIND_ARCH_CODE_SIZE of them. is_loose: it lies in no library. Any thread.
 */
#define VS_UNWIND_ARCH_CODE_SIZE 9
uint64_t vs_unwind_arch_recognise(const uint8_t code[VS_UNWIND_ARCH_CODE_SIZE], bool is_loose);

#endif
