/*
 * dlsym and dlvsym: ask vs_resolve_filter (resolve.c); if it has no answer, jump to the real
 * function with all arguments and the stack as they came. The loader finds out who is asking by the
 * return address (RTLD_NEXT, RTLD_DEFAULT), so it must still be the caller's.
 */
#if defined(__CET__)
#include <cet.h>
#endif
#ifndef _CET_ENDBR
#define _CET_ENDBR
#endif

#if defined(__x86_64__)

	/* has_version: whether the third argument is one, or NULL is to be passed for it */
	.macro entry name, real, has_version
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	_CET_ENDBR
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	.if \has_version == 0
	xorl %edx, %edx
	.endif
	movq 24(%rsp), %rcx
	call vs_resolve_filter
	movq %rdx, %rcx
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	testq %rax, %rax
	jne 1f
	jmpq *\real(%rip)
1:
	movq %rcx, %rax
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

#elif defined(__aarch64__)

	.macro entry name, real, has_version
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
	.if \has_version == 0
	mov x2, xzr
	.endif
	mov x3, x30
	bl vs_resolve_filter
	mov x9, x0
	mov x10, x1
	ldp x0, x1, [sp, #16]
	ldr x2, [sp, #32]
	ldp x29, x30, [sp], #48
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	cbnz x9, 1f
	adrp x16, \real
	ldr x16, [x16, :lo12:\real]
	br x16
1:
	mov x0, x10
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

#else
#error "dlsym has no entry for this processor yet"
#endif

	.text
	entry dlsym, vs_resolve_real_dlsym, 0
	entry dlvsym, vs_resolve_real_dlvsym, 1

#if defined(__aarch64__)
	.section .note.GNU-stack, "", %progbits
#else
	.section .note.GNU-stack, "", @progbits
#endif
