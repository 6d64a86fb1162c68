#include "facts.h"

#include <stdatomic.h>
#include <string.h>

/* Written by the thread that took the row; is_set (release) lets others read it. */
struct row {
	_Atomic uint32_t defined_in;
	atomic_bool is_set;
	struct vs_fact fact;
	char key[VS_FACTS_KEY_MAX];
	char value[VS_FACTS_VALUE_MAX];
};

static struct row rows[VS_FACTS_MAX];
static _Atomic uint32_t nr_taken;

static struct vs_text copy(char *out, size_t max, const char *text)
{
	size_t size = strnlen(text, max);

	memcpy(out, text, size);
	return (struct vs_text){.bytes = out, .size = (uint32_t)size};
}

static bool has_key(const struct row *row, const char *key)
{
	return atomic_load_explicit(&row->is_set, memory_order_acquire) &&
	       row->fact.key.size == strnlen(key, VS_FACTS_KEY_MAX) &&
	       memcmp(row->key, key, row->fact.key.size) == 0;
}

bool vs_facts_add(const char *key, const char *value)
{
	uint32_t i = atomic_load_explicit(&nr_taken, memory_order_relaxed);
	struct row *row;

	for (uint32_t at = 0; at < i; at++)
		if (has_key(&rows[at], key))
			return false;
	/* Two threads that say the same at once both succeed: the first one counts. */
	do {
		if (i >= VS_FACTS_MAX)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&nr_taken, &i, i + 1, memory_order_relaxed,
							memory_order_relaxed));
	row = &rows[i];
	row->fact.key = copy(row->key, sizeof(row->key), key);
	row->fact.value = copy(row->value, sizeof(row->value), value);
	atomic_store_explicit(&row->is_set, true, memory_order_release);
	return true;
}

bool vs_facts_next_undefined(uint32_t recording, uint32_t *i, struct vs_fact *fact)
{
	for (; *i < VS_FACTS_MAX; ++*i) {
		const struct row *row = &rows[*i];

		if (!atomic_load_explicit(&row->is_set, memory_order_acquire) ||
		    atomic_load_explicit(&row->defined_in, memory_order_acquire) == recording)
			continue;
		*fact = row->fact;
		return true;
	}
	return false;
}

void vs_facts_set_defined(uint32_t i, uint32_t recording)
{
	atomic_store_explicit(&rows[i].defined_in, recording, memory_order_release);
}
