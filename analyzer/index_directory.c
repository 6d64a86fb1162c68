/* The order of everything here is that of docs/trace-format.md, section 9.3. */
#include "index_directory.h"

#include <stdlib.h>
#include <string.h>

#include "number_column.h"

/* No more stacks than so many for each byte that tells of them. */
#define MOST_FOR_A_BYTE 65536

void vs_index_directory_fini(struct vs_index_directory *directory)
{
	free(directory->stretches);
	free(directory->stack_sites);
	free(directory->module_ends);
	free(directory->pools);
	free(directory->adoptions);
	free(directory->snapshots);
	vs_pack_fini(&directory->sums);
	vs_pack_fini(&directory->totals);
	*directory = (struct vs_index_directory){0};
}

/* ---- Into bytes ----------------------------------------------------------------------------- */

static void put_stretches(struct vs_pack *pack, const struct vs_index_directory *directory)
{
	uint64_t from = 0;
	size_t i;

	vs_pack_put_varint(pack, directory->nr_stretches);
	for (i = 0; i < directory->nr_stretches; i++) {
		const struct vs_reader_block *block = &directory->stretches[i].block;

		vs_pack_put_varint(pack, block->offset - from);
		vs_pack_put_varint(pack, block->end - block->offset);
		vs_pack_put_varint(pack, block->payload_crc);
		from = block->end;
	}
}

/* Mostly one more than the one before. */
static void put_stacks(struct vs_pack *pack, const struct vs_index_directory *directory)
{
	uint64_t *numbers = calloc(directory->nr_stacks + 1, sizeof(*numbers)), last = 0;
	size_t i;

	if (!numbers) {
		pack->error = -VS_ERR_NO_MEMORY;
		return;
	}
	for (i = 0; i < directory->nr_stacks; i++) {
		numbers[i] = directory->stack_sites[i] - last;
		last = directory->stack_sites[i];
	}
	vs_pack_put_varint(pack, i);
	vs_number_column_put(pack, VS_NUMBERS_SIGNED, numbers, i);
	free(numbers);
}

static void put_module_ends(struct vs_pack *pack, const struct vs_index_directory *directory)
{
	struct vs_index_module_end last = {0};
	size_t i;

	vs_pack_put_varint(pack, directory->nr_module_ends);
	for (i = 0; i < directory->nr_module_ends; i++) {
		const struct vs_index_module_end *end = &directory->module_ends[i];

		vs_pack_put_varint(pack, end->record - last.record);
		vs_pack_put_varint(pack, end->nr_definitions - last.nr_definitions);
		vs_pack_put_varint(pack, end->module);
		last = *end;
	}
}

static void put_pools(struct vs_pack *pack, const struct vs_index_directory *directory)
{
	size_t i;

	vs_pack_put_varint(pack, directory->nr_pools);
	for (i = 0; i < directory->nr_pools; i++) {
		const struct vs_pool *pool = &directory->pools[i];

		vs_pack_put_varint(pack, pool->id);
		vs_pack_put_varint(pack, pool->owner);
		vs_pack_put_varint(pack, pool->device);
		vs_pack_put_varint(pack, pool->limit_size);
		vs_pack_put_varint(pack, pool->name.size);
		vs_pack_put_bytes(pack, pool->name.bytes, pool->name.size);
	}
}

/* Items and reservations have numbers of their own: which it is goes into the lowest bit. */
static uint64_t fold_key(uint64_t key)
{
	return key << 1 | key >> 63;
}

static uint64_t unfold_key(uint64_t folded)
{
	return folded >> 1 | folded << 63;
}

static void put_adoptions(struct vs_pack *pack, const struct vs_index_directory *directory)
{
	const struct vs_index_adoption *adoptions = directory->adoptions;
	size_t nr = directory->nr_adoptions, i;
	uint64_t record = 0, key = 0;

	vs_pack_put_varint(pack, nr);
	for (i = 0; i < nr; i++) {
		vs_pack_put_varint(pack, adoptions[i].record - record);
		record = adoptions[i].record;
	}
	for (i = 0; i < nr; i++) {
		vs_pack_put_varint(pack, vs_wire_fold_sign(fold_key(adoptions[i].key) - key));
		key = fold_key(adoptions[i].key);
	}
	for (i = 0; i < nr; i++)
		vs_pack_put_varint(pack, adoptions[i].pool);
}

static void put_snapshots(struct vs_pack *pack, const struct vs_index_directory *directory)
{
	struct vs_index_snapshot last = {0};
	size_t i;

	vs_pack_put_varint(pack, directory->nr_snapshots);
	for (i = 0; i < directory->nr_snapshots; i++) {
		const struct vs_index_snapshot *snapshot = &directory->snapshots[i];

		vs_pack_put_varint(pack, snapshot->block.offset - last.block.offset);
		vs_pack_put_varint(pack, snapshot->block.payload_crc);
		vs_pack_put_varint(pack, snapshot->nr_records - last.nr_records);
		vs_pack_put_varint(pack, snapshot->nr_events - last.nr_events);
		vs_pack_put_varint(pack, snapshot->nr_definitions - last.nr_definitions);
		vs_pack_put_varint(pack, snapshot->now_ns - last.now_ns);
		vs_pack_put_varint(pack, (uint64_t)snapshot->size << 1 | snapshot->is_whole);
		vs_pack_put_varint(pack, snapshot->crc);
		last = *snapshot;
	}
}

static void put_part(struct vs_pack *pack, const struct vs_pack *part)
{
	vs_pack_put_varint(pack, part->size);
	vs_pack_put_bytes(pack, part->bytes, part->size);
}

void vs_index_directory_put(struct vs_pack *pack, const struct vs_index_directory *directory)
{
	vs_pack_put_varint(pack, directory->is_complete);
	vs_pack_put_varint(pack, directory->nr_lost);
	vs_pack_put_varint(pack, directory->nr_definitions);
	vs_pack_put_varint(pack, directory->first_ns);
	vs_pack_put_varint(pack, directory->now_ns);
	vs_pack_put_varint(pack, directory->nr_steps);
	vs_pack_put_varint(pack, directory->nr_phases);
	put_stretches(pack, directory);
	put_stacks(pack, directory);
	put_module_ends(pack, directory);
	put_pools(pack, directory);
	put_adoptions(pack, directory);
	put_snapshots(pack, directory);
	put_part(pack, &directory->sums);
	put_part(pack, &directory->totals);
}

/* ---- Out of bytes --------------------------------------------------------------------------- */

static void fail(struct vs_wire *in)
{
	if (!in->error)
		in->error = -VS_ERR_CORRUPT;
}

/* The next number, added to another one. */
static uint64_t get_behind(struct vs_wire *in, uint64_t from)
{
	uint64_t value;

	if (__builtin_add_overflow(from, vs_wire_get_varint(in), &value))
		fail(in);
	return value;
}

/* Room for so many as the next number says. The error stays in the wire. */
static void *get_array(struct vs_wire *in, size_t *nr, size_t element_size)
{
	size_t count = vs_pack_get_count(in);
	void *array = in->error ? NULL : calloc(count + 1, element_size);

	if (!array && !in->error)
		in->error = -VS_ERR_NO_MEMORY;
	*nr = array ? count : 0;
	return array;
}

static void get_stretches(struct vs_index_directory *directory, struct vs_wire *in)
{
	uint64_t from = 0;
	size_t i;

	directory->stretches =
		get_array(in, &directory->nr_stretches, sizeof(directory->stretches[0]));
	for (i = 0; i < directory->nr_stretches; i++) {
		struct vs_reader_block *block = &directory->stretches[i].block;

		block->offset = get_behind(in, from);
		block->end = from = get_behind(in, block->offset);
		block->payload_crc = vs_wire_get_varint32(in);
	}
}

/* Definitions are not more than the directory says, and those need bytes in the trace. */
static void get_stacks(struct vs_index_directory *directory, struct vs_wire *in)
{
	uint64_t nr = vs_wire_get_varint(in), last = 0, *numbers = NULL;
	size_t i;

	if (nr > directory->nr_definitions || nr / MOST_FOR_A_BYTE > vs_wire_left(in))
		fail(in);
	if (!in->error) {
		numbers = calloc(nr + 1, sizeof(*numbers));
		directory->stack_sites = calloc(nr + 1, sizeof(directory->stack_sites[0]));
		if (!numbers || !directory->stack_sites)
			in->error = -VS_ERR_NO_MEMORY;
	}
	if (!in->error)
		vs_number_column_get(in, VS_NUMBERS_SIGNED, numbers, nr);
	for (i = 0; i < nr && !in->error; i++) {
		last += numbers[i];
		if (last > UINT32_MAX)
			fail(in);
		directory->stack_sites[i] = (uint32_t)last;
	}
	directory->nr_stacks = in->error ? 0 : nr;
	free(numbers);
}

static void get_module_ends(struct vs_index_directory *directory, struct vs_wire *in)
{
	struct vs_index_module_end last = {0};
	size_t i;

	directory->module_ends =
		get_array(in, &directory->nr_module_ends, sizeof(directory->module_ends[0]));
	for (i = 0; i < directory->nr_module_ends; i++) {
		last.record = get_behind(in, last.record);
		last.nr_definitions = get_behind(in, last.nr_definitions);
		last.module = vs_wire_get_varint32(in);
		directory->module_ends[i] = last;
	}
}

static void get_pools(struct vs_index_directory *directory, struct vs_wire *in)
{
	size_t i;

	directory->pools = get_array(in, &directory->nr_pools, sizeof(directory->pools[0]));
	for (i = 0; i < directory->nr_pools; i++) {
		struct vs_pool *pool = &directory->pools[i];
		uint64_t owner;

		pool->id = vs_wire_get_varint32(in);
		owner = vs_wire_get_varint(in);
		if (owner > VS_POOL_FRAMEWORK)
			fail(in);
		pool->owner = (enum vs_pool_owner)owner;
		pool->device = vs_wire_get_varint32(in);
		pool->limit_size = vs_wire_get_varint(in);
		pool->name.size = vs_wire_get_varint32(in);
		pool->name.bytes = (const char *)vs_wire_get_bytes(in, pool->name.size);
	}
}

static void get_adoptions(struct vs_index_directory *directory, struct vs_wire *in)
{
	struct vs_index_adoption *adoptions =
		get_array(in, &directory->nr_adoptions, sizeof(adoptions[0]));
	size_t nr = directory->nr_adoptions, i;
	uint64_t record = 0, key = 0;

	directory->adoptions = adoptions;
	for (i = 0; i < nr; i++)
		adoptions[i].record = record = get_behind(in, record);
	for (i = 0; i < nr; i++) {
		key += vs_wire_unfold_sign(vs_wire_get_varint(in));
		adoptions[i].key = unfold_key(key);
	}
	for (i = 0; i < nr; i++) {
		adoptions[i].pool = vs_wire_get_varint32(in);
		if (adoptions[i].pool >= directory->nr_pools)
			fail(in);
	}
}

static void get_snapshots(struct vs_index_directory *directory, struct vs_wire *in, uint64_t offset)
{
	struct vs_index_snapshot last = {0};
	uint64_t size;
	size_t i;

	directory->snapshots =
		get_array(in, &directory->nr_snapshots, sizeof(directory->snapshots[0]));
	for (i = 0; i < directory->nr_snapshots; i++) {
		last.block.offset = get_behind(in, last.block.offset);
		last.block.payload_crc = vs_wire_get_varint32(in);
		last.nr_records = get_behind(in, last.nr_records);
		last.nr_events = get_behind(in, last.nr_events);
		last.nr_definitions = get_behind(in, last.nr_definitions);
		last.now_ns = get_behind(in, last.now_ns);
		size = vs_wire_get_varint(in);
		last.crc = vs_wire_get_varint32(in);
		last.size = (uint32_t)(size >> 1);
		last.is_whole = size & 1;
		/* There is nothing that the first could be told from. */
		if (size >> 33 || (!i && !last.is_whole))
			fail(in);
		last.offset = offset;
		offset += last.size;
		directory->snapshots[i] = last;
	}
}

static void get_part(struct vs_pack *part, struct vs_wire *in)
{
	uint64_t size = vs_wire_get_varint(in);
	const uint8_t *bytes = vs_wire_get_bytes(in, size);

	if (!bytes)
		return;
	vs_pack_put_bytes(part, bytes, (size_t)size);
	if (part->error)
		in->error = part->error;
}

int vs_index_directory_get(struct vs_index_directory *directory, const uint8_t *bytes, size_t size,
			   uint64_t offset)
{
	struct vs_wire in;
	uint64_t is_complete;

	*directory = (struct vs_index_directory){0};
	vs_wire_init(&in, bytes, size);
	is_complete = vs_wire_get_varint(&in);
	if (is_complete > 1)
		fail(&in);
	directory->is_complete = is_complete;
	directory->nr_lost = vs_wire_get_varint(&in);
	directory->nr_definitions = vs_wire_get_varint(&in);
	directory->first_ns = vs_wire_get_varint(&in);
	directory->now_ns = vs_wire_get_varint(&in);
	directory->nr_steps = vs_wire_get_varint(&in);
	directory->nr_phases = vs_wire_get_varint(&in);
	get_stretches(directory, &in);
	get_stacks(directory, &in);
	get_module_ends(directory, &in);
	get_pools(directory, &in);
	get_adoptions(directory, &in);
	get_snapshots(directory, &in, offset);
	get_part(&directory->sums, &in);
	get_part(&directory->totals, &in);
	if (vs_wire_left(&in))
		fail(&in);
	if (in.error)
		vs_index_directory_fini(directory);
	return in.error;
}
