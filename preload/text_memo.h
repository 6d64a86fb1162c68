#ifndef VS_TEXT_MEMO_H
#define VS_TEXT_MEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Numbers of texts (names.h) that a thread was told again and again at the same addresses: where to
 * look is decided by the address, whether it is the text by the text itself. So that neither a hash
 * of it nor the table that all threads share is needed.
 *
 * It forgets what it has no room for. Only its own thread touches it; one that jumps away in the
 * middle leaves an entry that is not found.
 */
#define VS_TEXT_MEMO_BITS 7
#define VS_TEXT_MEMO_MAX  54u /* bytes of a text; a longer one is not kept. With the rest: 64 */

struct vs_text_memo {
	struct vs_text_memo_entry {
		uint32_t number; /* 0: none yet */
		uint16_t size;
		char text[VS_TEXT_MEMO_MAX];
	} entries[1u << VS_TEXT_MEMO_BITS];
};

static inline struct vs_text_memo_entry *vs_text_memo_place(struct vs_text_memo *memo,
							    const char *text)
{
	return &memo->entries[(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >>
			      (64 - VS_TEXT_MEMO_BITS)];
}

static inline uint64_t vs_text_memo_load(const char *text, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, text, size);
	return word;
}

/* By words, the last one with some of those before it: a call of memcmp is farther away. */
static inline bool vs_text_memo_is_same(const char *a, const char *b, size_t size)
{
	size_t i = 0;

	if (size >= 8) {
		for (; i + 8 < size; i += 8)
			if (vs_text_memo_load(a + i, 8) != vs_text_memo_load(b + i, 8))
				return false;
		return vs_text_memo_load(a + size - 8, 8) == vs_text_memo_load(b + size - 8, 8);
	}
	if (size >= 4)
		return vs_text_memo_load(a, 4) == vs_text_memo_load(b, 4) &&
		       vs_text_memo_load(a + size - 4, 4) == vs_text_memo_load(b + size - 4, 4);
	for (; i < size; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* The number that was added for a text of these bytes, or 0. */
static inline uint32_t vs_text_memo_find(struct vs_text_memo *memo, const char *text, size_t size)
{
	const struct vs_text_memo_entry *entry = vs_text_memo_place(memo, text);

	return entry->size == size && vs_text_memo_is_same(entry->text, text, size) ? entry->number
										    : 0;
}

static inline void vs_text_memo_add(struct vs_text_memo *memo, const char *text, size_t size,
				    uint32_t number)
{
	struct vs_text_memo_entry *entry = vs_text_memo_place(memo, text);

	if (size > VS_TEXT_MEMO_MAX)
		return;
	entry->number = 0;
	atomic_signal_fence(memory_order_seq_cst);
	entry->size = (uint16_t)size;
	memcpy(entry->text, text, size);
	atomic_signal_fence(memory_order_seq_cst);
	entry->number = number;
}

#endif
