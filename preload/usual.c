#include "usual.h"

#include "hot.h"

/* Before there is a page for it. */
static _Atomic uint64_t nothing;
VS_HOT_DATA _Atomic uint64_t *vs_usual_word = &nothing;

void vs_usual_begin(_Atomic uint64_t *word)
{
	if (word)
		vs_usual_word = word;
	atomic_store_explicit(vs_usual_word, VS_USUAL_ALL & ~VS_USUAL_OPEN, memory_order_release);
}

void vs_usual_open(uint32_t recording)
{
	atomic_fetch_or_explicit(vs_usual_word, (uint64_t)(recording << 8) | VS_USUAL_OPEN,
				 memory_order_release);
}

void vs_usual_set(uint64_t bit)
{
	atomic_fetch_or_explicit(vs_usual_word, bit, memory_order_release);
}

void vs_usual_clear(uint64_t bit)
{
	atomic_fetch_and_explicit(vs_usual_word, ~bit, memory_order_release);
}
