/* See unwind_asm.h. */
	.text

	.macro begin name
	.globl \name
	.type \name, @function
\name:
	.endm

	.macro end name
	.size \name, . - \name
	.endm

	begin unwind_asm_bare
	push %rbp
	mov %rsp, %rbp
	call *%rdi
	pop %rbp
	ret
	end unwind_asm_bare
	.globl unwind_asm_bare_end
unwind_asm_bare_end:
	nop

	begin unwind_asm_by_register
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	mov %rsp, %rbx
	.cfi_def_cfa_register rbx
	and $-64, %rsp
	sub $64, %rsp
	call *%rdi
	mov %rbx, %rsp
	.cfi_def_cfa_register rsp
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	end unwind_asm_by_register

	begin unwind_asm_by_expression
	.cfi_startproc
	sub $40, %rsp
	/* DW_CFA_def_cfa_expression: breg7 40, lit8, plus */
	.cfi_escape 0x0f, 4, 0x77, 40, 0x38, 0x22
	call *%rdi
	add $40, %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	end unwind_asm_by_expression

	begin unwind_asm_in_register
	.cfi_startproc
	push %r12
	.cfi_def_cfa_offset 16
	.cfi_offset r12, -16
	mov %rbp, %r12
	/* Not rbx: libunwind 1.6 takes the caller's for it. */
	.cfi_register rbp, r12
	xor %ebp, %ebp
	call *%rdi
	mov %r12, %rbp
	.cfi_restore rbp
	pop %r12
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	end unwind_asm_in_register

	begin unwind_asm_by_load
	.cfi_startproc
	lea 8(%rsp), %r10
	and $-64, %rsp
	push -8(%r10)
	push %rbp
	mov %rsp, %rbp
	push %r10
	/* DW_CFA_def_cfa_expression: breg6 -8, deref. DW_CFA_expression: rbp at breg6 0 */
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06
	.cfi_escape 0x10, 6, 2, 0x76, 0
	sub $8, %rsp
	call *%rdi
	.globl unwind_asm_by_load_return
unwind_asm_by_load_return:
	mov -8(%rbp), %r10
	mov (%rbp), %rbp
	lea -8(%r10), %rsp
	ret
	.cfi_endproc
	end unwind_asm_by_load

	begin unwind_asm_switch
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register rbp
	mov %rsi, %rsp
	and $-16, %rsp
	call *%rdi
	mov %rbp, %rsp
	pop %rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	end unwind_asm_switch

	begin unwind_asm_lie_far
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 0x7ffffff8
	call *%rdi
	add $8, %rsp
	ret
	.cfi_endproc
	end unwind_asm_lie_far

	begin unwind_asm_lie_near
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 27
	call *%rdi
	add $8, %rsp
	ret
	.cfi_endproc
	end unwind_asm_lie_near

	begin unwind_asm_lie_bp
	.cfi_startproc
	push %rbp
	.cfi_def_cfa rbp, 16
	.cfi_offset rbp, -16
	mov %rsi, %rbp
	call *%rdi
	pop %rbp
	ret
	.cfi_endproc
	end unwind_asm_lie_bp

	begin unwind_asm_trace
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	pushf
	.cfi_def_cfa_offset 24
	orq $0x100, (%rsp)
	popf
	.cfi_def_cfa_offset 16
	call *%rdi
	pushf
	.cfi_def_cfa_offset 24
	andq $~0x100, (%rsp)
	popf
	.cfi_def_cfa_offset 16
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	end unwind_asm_trace

	.section .note.GNU-stack, "", @progbits
