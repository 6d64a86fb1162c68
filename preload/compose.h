#ifndef VS_COMPOSE_H
#define VS_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text put together in the caller's storage, without stdio. Always terminated; what does not fit is
 * left out and remembered in is_cut. One thread at a time, keeps errno.
 */
struct vs_compose {
	char *bytes;
	size_t room; /* with the terminator */
	size_t size; /* without it */
	bool is_cut;
};

void vs_compose_init(struct vs_compose *text, char *bytes, size_t room);
void vs_compose_add(struct vs_compose *text, const char *more);
void vs_compose_add_bytes(struct vs_compose *text, const char *more, size_t size);
void vs_compose_add_number(struct vs_compose *text, uint64_t number);

#endif
