#include "path_set.h"

/* FNV-1a, 64 bits; zero marks an empty slot. */
static uint64_t hash_path(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
	return hash ? hash : 1;
}

bool sg_path_set_add(struct sg_path_set *set, const char *path)
{
	uint64_t hash = hash_path(path);

	for (uint64_t i = 0; i < SG_PATH_SET_SIZE; i++) {
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(&set->slots[(hash + i) % SG_PATH_SET_SIZE],
						   &found, hash))
			return true;
		if (found == hash)
			return false;
	}
	return true;
}

bool sg_path_set_has(struct sg_path_set *set, const char *path)
{
	uint64_t hash = hash_path(path);

	for (uint64_t i = 0; i < SG_PATH_SET_SIZE; i++) {
		uint64_t found = atomic_load(&set->slots[(hash + i) % SG_PATH_SET_SIZE]);

		if (found == hash)
			return true;
		if (found == 0)
			return false;
	}
	return false;
}
