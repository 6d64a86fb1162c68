#ifndef VS_BYTE_TEXTURE_H
#define VS_BYTE_TEXTURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What bytes are like, as far as it matters to who compresses them: to look for repetitions where
 * there are none is most of what that costs. Any thread.
 */
enum vs_byte_texture {
	VS_BYTE_TEXTURE_DENSE,  /* packed already: nothing is to be gained */
	VS_BYTE_TEXTURE_UNEVEN, /* some bytes are more frequent than others, but hardly any repeat
				 */
	VS_BYTE_TEXTURE_REPEATING, /* or too few bytes to tell */
};

/* So many bytes of one texture, of a payload that consists of such parts. */
struct vs_byte_texture_part {
	size_t size;
	enum vs_byte_texture texture;
};

/* UNEVEN or REPEATING, by a part of them in their middle. */
enum vs_byte_texture vs_byte_texture_get(const uint8_t *bytes, size_t size);

#endif
