#include "names.h"

#include <stdatomic.h>
#include <string.h>

#include "intern.h"

/* The text is written by the thread that took the number, before it lets anybody else see it. */
struct row {
	_Atomic uint32_t defined_in; /* release after the definition was published */
	uint32_t size;
	char text[VS_NAMES_TEXT_MAX];
};

#define TABLE_BYTES (VS_NAMES_MAX * (VS_NAMES_TEXT_MAX + 16))

static struct vs_intern table;
static struct row rows[VS_NAMES_MAX];
static _Atomic uint32_t last_number;

int vs_names_init(void)
{
	return vs_intern_init(&table, VS_NAMES_MAX, TABLE_BYTES);
}

static uint32_t take_number(uint32_t limit)
{
	uint32_t number = atomic_load_explicit(&last_number, memory_order_relaxed);

	do {
		if (number >= limit)
			return VS_NO_ID;
	} while (!atomic_compare_exchange_weak_explicit(
		&last_number, &number, number + 1, memory_order_relaxed, memory_order_relaxed));
	return number + 1;
}

uint32_t vs_names_take_number(void)
{
	return take_number(VS_NAMES_MAX);
}

static uint32_t add_name(uint64_t hash, const char *text, size_t size, uint32_t limit)
{
	uint32_t number = take_number(limit);
	struct row *row;

	if (number == VS_NO_ID)
		return VS_NO_ID;
	row = &rows[number - 1];
	row->size = (uint32_t)size;
	memcpy(row->text, text, size);
	/* May fail for want of memory: then the next one asks in vain and gets another number. */
	vs_intern_add(&table, hash, text, size, number);
	return number;
}

uint32_t vs_names_get_below(const char *text, uint32_t limit)
{
	size_t size = strnlen(text, VS_NAMES_TEXT_MAX);
	uint64_t hash = vs_intern_hash(text, size, 0);
	uint32_t number = vs_intern_find(&table, hash, text, size);

	return number ? number : add_name(hash, text, size, limit);
}

uint32_t vs_names_get(const char *text)
{
	return vs_names_get_below(text, VS_NAMES_MAX);
}

bool vs_names_is_given(uint32_t number)
{
	return number != VS_NO_ID &&
	       number <= atomic_load_explicit(&last_number, memory_order_relaxed);
}

struct vs_text vs_names_text(uint32_t number)
{
	const struct row *row = &rows[number - 1];

	return (struct vs_text){.bytes = row->text, .size = row->size};
}

bool vs_names_is_defined(uint32_t number, uint32_t recording)
{
	return atomic_load_explicit(&rows[number - 1].defined_in, memory_order_acquire) ==
	       recording;
}

void vs_names_set_defined(uint32_t number, uint32_t recording)
{
	atomic_store_explicit(&rows[number - 1].defined_in, recording, memory_order_release);
}
