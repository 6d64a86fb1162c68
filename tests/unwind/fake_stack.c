#include "fake_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PAGE      4096u
#define CODE_SIZE (4 * PAGE)
#define SIZE      (FAKE_STACK_NR_WORDS * sizeof(uint64_t))

void fake_stack_init(struct fake_stack *stack)
{
	char *pages = mmap(NULL, SIZE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stack->code =
		mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED && stack->code != MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, SIZE, PROT_READ | PROT_WRITE), 0);
	stack->words = (uint64_t *)(void *)(pages + PAGE);
	stack->nr_used = 0;
	stack->window.start = (uintptr_t)stack->words;
	stack->window.size = SIZE - 7;
}

void fake_stack_fini(struct fake_stack *stack)
{
	munmap((char *)stack->words - PAGE, SIZE + 2 * PAGE);
	munmap(stack->code, CODE_SIZE);
}

/* The first byte of the page is before all addresses: no rule looks further ahead. */
static uint64_t put_code(struct fake_stack *stack, unsigned place, const void *code, size_t size)
{
	uint8_t *at = stack->code + 16 + 16 * place;

	assert_true(place < 1000);
	memcpy(at, code, size);
	return (uint64_t)(uintptr_t)at;
}

uint64_t fake_stack_return_by_slots(struct fake_stack *stack, unsigned number, unsigned nr_slots)
{
	/* add $n,%rsp; ret */
	const uint8_t code[] = {0x48, 0x83, 0xc4, (uint8_t)(8 * nr_slots), 0xc3};

	return put_code(stack, number, code, sizeof(code));
}

uint64_t fake_stack_return_with_bp(struct fake_stack *stack, unsigned number)
{
	/* pop %rbp; ret */
	return put_code(stack, 300 + number, (const uint8_t[]){0x5d, 0xc3}, 2);
}

uint64_t fake_stack_return_to_nowhere(struct fake_stack *stack)
{
	return (uint64_t)(uintptr_t)stack->code + CODE_SIZE - 64;
}

void fake_stack_push(struct fake_stack *stack, uint64_t word)
{
	assert_true(stack->nr_used < FAKE_STACK_NR_WORDS);
	stack->words[stack->nr_used++] = word;
}

void fake_stack_begin(struct fake_stack *stack, uint64_t bp, uint64_t address)
{
	stack->nr_used = 0;
	fake_stack_push(stack, bp);
	fake_stack_push(stack, address);
}
