/*
 * Constructors of PyTorch's exceptions: let vs_torch_error_note (torch_error.c) look at the text,
 * then jump to the real one with all arguments and the stack as they came. The arguments are the
 * object, c10::SourceLocation (24 bytes by value) and std::string (by reference, as it has a
 * destructor).
 */
#if defined(__CET__)
#include <cet.h>
#endif
#ifndef _CET_ENDBR
#define _CET_ENDBR
#endif

#if defined(__x86_64__)

	/* number: of the row in torch_error.c. The location is on the stack, the text in rsi. */
	.macro entry name, number
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	_CET_ENDBR
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	movl $\number, %edi
	movq 24(%rsp), %rdx
	call vs_torch_error_note
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	jmpq *%rax
	.cfi_endproc
	.size \name, . - \name
	.endm

#elif defined(__aarch64__)

	/* The location is a copy that x1 points to, the text is in x2. */
	.macro entry name, number
	.globl \name
	.type \name, %function
\name:
	.cfi_startproc
	hint #34 /* bti c */
	stp x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	stp x0, x1, [sp, #16]
	str x2, [sp, #32]
	mov x29, sp
	mov w0, #\number
	mov x1, x2
	mov x2, x30
	bl vs_torch_error_note
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldr x2, [sp, #32]
	ldp x29, x30, [sp], #48
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	br x16
	.cfi_endproc
	.size \name, . - \name
	.endm

#endif

	.text
#define VS_TORCH_ERROR(number, name, is_shared) entry name, number;
#include "torch_error.def"

	.section .note.GNU-stack, "", %progbits
