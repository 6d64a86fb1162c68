#ifndef VS_TEXTURE_H
#define VS_TEXTURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What bytes are like, as far as it matters to who compresses them: to look for repetitions where
 * there are none is most of what that costs. Any thread.
 */
enum vs_texture {
	VS_TEXTURE_DENSE,     /* packed already: nothing is to be gained */
	VS_TEXTURE_UNEVEN,    /* some bytes are more frequent than others, but hardly any repeat */
	VS_TEXTURE_REPEATING, /* or too few bytes to tell */
};

/* So many bytes of one texture, of a payload that consists of such parts. */
struct vs_texture_part {
	size_t size;
	enum vs_texture texture;
};

/* UNEVEN or REPEATING, by a part of them in their middle. */
enum vs_texture vs_texture_get(const uint8_t *bytes, size_t size);

#endif
