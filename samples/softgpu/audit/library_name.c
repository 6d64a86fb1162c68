#include "library_name.h"

#include <errno.h>
#include <string.h>

#define HASH_DIGITS 8 /* auditwheel: '-' and the first eight digits of a SHA-256 */

static const char *const nvidia_stems[] = {
#define SG_NVIDIA(stem) stem,
#include "nvidia_libraries.def"
#undef SG_NVIDIA
};

/* The ".so" that ends the stem: followed by the version or by nothing. NULL without one. */
static const char *find_suffix(const char *base)
{
	const char *at = base;

	for (;;) {
		at = strstr(at, ".so");
		if (!at || at[3] == '\0' || at[3] == '.')
			return at;
		at += 3;
	}
}

static size_t skip_hash(const char *base, size_t stem_size)
{
	const char *hash;

	if (stem_size < HASH_DIGITS + 2)
		return stem_size;
	hash = base + stem_size - HASH_DIGITS;
	if (hash[-1] != '-' || strspn(hash, "0123456789abcdef") != HASH_DIGITS)
		return stem_size;
	return stem_size - HASH_DIGITS - 1;
}

int sg_library_name_parse(const char *path, struct sg_library_name *name)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *suffix = find_suffix(base);
	size_t suffix_size;

	if (!suffix || suffix == base || strlen(base) > NAME_MAX)
		return -EINVAL;
	suffix_size = strlen(suffix);
	name->stem_size = skip_hash(base, (size_t)(suffix - base));
	memcpy(name->text, base, name->stem_size);
	memcpy(name->text + name->stem_size, suffix, suffix_size + 1);
	name->version_at = name->stem_size + (suffix_size > 3 ? 4 : 3);
	return 0;
}

bool sg_library_name_shorten(struct sg_library_name *name)
{
	char *dot = strrchr(name->text + name->version_at, '.');

	if (!dot)
		return false;
	*dot = '\0';
	return true;
}

bool sg_library_name_is_nvidia(const struct sg_library_name *name)
{
	for (size_t i = 0; i < sizeof(nvidia_stems) / sizeof(nvidia_stems[0]); i++) {
		const char *stem = nvidia_stems[i];
		size_t size = strlen(stem);

		if (stem[size - 1] == '*') {
			if (name->stem_size >= size && !memcmp(name->text, stem, size - 1))
				return true;
		} else if (name->stem_size == size && !memcmp(name->text, stem, size)) {
			return true;
		}
	}
	return false;
}
