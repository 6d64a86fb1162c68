#include "adoption.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* With its name behind it, in one piece. */
static struct vs_pool *copy_pool(const struct vs_pool *pool)
{
	struct vs_pool *copy = malloc(sizeof(*copy) + pool->name.size);

	if (!copy)
		return NULL;
	*copy = *pool;
	copy->name.bytes = (char *)(copy + 1);
	if (pool->name.size)
		memcpy(copy + 1, pool->name.bytes, pool->name.size);
	return copy;
}

static int get_pool(struct vs_adoption *adoption, const struct vs_pool *pool, struct vs_pool **out)
{
	int err;

	*out = vs_id_map_get(&adoption->pools, pool->id);
	if (*out)
		return 0;
	*out = copy_pool(pool);
	if (!*out)
		return -VS_ERR_NO_MEMORY;
	err = vs_id_map_put(&adoption->pools, pool->id, *out);
	if (err)
		free(*out);
	return err;
}

int vs_adoption_add(struct vs_adoption *adoption, uint64_t key, const struct vs_pool *pool)
{
	struct vs_pool *kept;
	int err;

	if (vs_id_map_get(&adoption->adopters, key))
		return 0;
	err = VS_GROW(adoption->keys, adoption->keys_capacity, adoption->nr_keys + 1);
	if (!err)
		err = get_pool(adoption, pool, &kept);
	if (!err)
		err = vs_id_map_put(&adoption->adopters, key, kept);
	if (!err)
		adoption->keys[adoption->nr_keys++] = key;
	return err;
}

const struct vs_pool *vs_adoption_get(const struct vs_adoption *adoption, uint64_t key)
{
	return vs_id_map_get(&adoption->adopters, key);
}

void vs_adoption_fini(struct vs_adoption *adoption)
{
	struct vs_pool *pool;
	size_t slot = 0;

	while ((pool = vs_id_map_next(&adoption->pools, &slot)))
		free(pool);
	vs_id_map_fini(&adoption->pools);
	vs_id_map_fini(&adoption->adopters);
	free(adoption->keys);
	*adoption = (struct vs_adoption){0};
}
