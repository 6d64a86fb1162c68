/*
 * libFuzzer: any bytes as parts of an index: the directory, sums, and a chain of snapshots, which
 * become states of replays that go on. The first byte says which.
 */
#include <stdlib.h>
#include <string.h>

#include "index_directory.h"
#include "replay.h"
#include "snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NR_SITES 4

/* Definitions that accounts can be of. */
static struct vs_replay *make_replay(void)
{
	struct vs_replay *replay;

	if (vs_replay_create(&replay))
		abort();
	for (uint32_t i = 1; i < NR_SITES; i++) {
		uint64_t frame = 0x1000 * i;
		struct vs_record record = {.type = VS_RECORD_STACK,
					   .stack = {.id = i, .frames = &frame, .nr_frames = 1}};

		if (vs_replay_add(replay, &record))
			abort();
	}
	return replay;
}

/* Something that looks at all that is there. */
static void go_on(struct vs_replay *replay)
{
	struct vs_pack sums = {0};
	struct vs_snapshot_memory *memory;
	struct vs_record record = {.type = VS_RECORD_FREE_FAILED,
				   .time_ns = UINT64_MAX,
				   .free_failed = {.kind = VS_MEMORY_DEVICE, .address = 0x100000}};
	int err = vs_replay_add(replay, &record);

	record = (struct vs_record){.type = VS_RECORD_CONTEXT,
				    .time_ns = UINT64_MAX,
				    .context = {.change = VS_CONTEXT_RESET}};
	if (!err)
		err = vs_replay_add(replay, &record);
	if (!err && !vs_snapshot_memory_create(&memory)) {
		vs_snapshot_put(&sums, replay, memory, true);
		vs_snapshot_memory_destroy(memory);
	}
	vs_pack_fini(&sums);
}

/* Snapshots of which each has its size in two bytes in front of it. */
static void try_chain(const uint8_t *data, size_t size)
{
	struct vs_snapshot_chain *chain;
	struct vs_replay *replay;
	bool is_whole = true;
	int err = vs_snapshot_chain_create(&chain);

	while (!err && size >= 2) {
		size_t part = (size_t)data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		part = part < size ? part : size;
		err = vs_snapshot_chain_add(chain, data, part, is_whole);
		data += part;
		size -= part;
		is_whole = false;
	}
	replay = make_replay();
	if (!err && !vs_snapshot_get(replay, chain))
		go_on(replay);
	vs_replay_destroy(replay);
	vs_snapshot_chain_destroy(chain);
}

/* What the fuzzer can begin with: a small state, then the same a little later. */
static void add_seed(struct vs_pack *out, struct vs_replay *replay,
		     struct vs_snapshot_memory *memory)
{
	struct vs_pack one = {0};
	uint8_t size[2];

	vs_snapshot_put(&one, replay, memory, false);
	vs_snapshot_memory_keep(memory);
	size[0] = (uint8_t)one.size;
	size[1] = (uint8_t)(one.size >> 8);
	vs_pack_put_bytes(out, size, sizeof(size));
	vs_pack_put_bytes(out, one.bytes, one.size);
	vs_pack_fini(&one);
}

static void make_seed(struct vs_pack *out)
{
	static const struct vs_record records[] = {
		{.type = VS_RECORD_ALLOC,
		 .time_ns = 1000,
		 .alloc = {.kind = VS_MEMORY_DEVICE,
			   .address = 0x100000,
			   .size = 0x10000,
			   .stack = 1}},
		{.type = VS_RECORD_POOL, .pool = {.id = 1, .name = {"pool", 4}}},
		{.type = VS_RECORD_BLOCK_ALLOC,
		 .time_ns = 2000,
		 .block_alloc = {1, 0x100000, 512, 2}},
		{.type = VS_RECORD_BLOCK_ALLOC,
		 .time_ns = 3000,
		 .block_alloc = {1, 0x100400, 512, 3}},
		{.type = VS_RECORD_BLOCK_FREE, .time_ns = 4000, .block_free = {1, 0x100000, 0}},
		{.type = VS_RECORD_BLOCK_ALLOC,
		 .time_ns = 5000,
		 .block_alloc = {1, 0x100000, 256, 2}},
		{.type = VS_RECORD_RESERVE, .time_ns = 6000, .reserve = {0x800000, 0x100000}},
		{.type = VS_RECORD_ALLOC,
		 .time_ns = 7000,
		 .alloc = {.kind = VS_MEMORY_VMM, .address = 3, .size = 0x1000}},
		{.type = VS_RECORD_MAP, .time_ns = 8000, .map = {0x800000, 0x1000, 3, 0}},
		{.type = VS_RECORD_FREE,
		 .time_ns = 9000,
		 .free = {VS_MEMORY_DEVICE, 0x100000, 0, 0}},
	};
	struct vs_replay *replay = make_replay();
	struct vs_snapshot_memory *memory;

	if (vs_snapshot_memory_create(&memory))
		abort();
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		if (vs_replay_add(replay, &records[i]))
			abort();
		if (i % 3 == 0)
			add_seed(out, replay, memory);
	}
	vs_snapshot_memory_destroy(memory);
	vs_replay_destroy(replay);
}

/* Damage done to a right chain goes deeper than bytes by chance. */
static void try_changed(const uint8_t *data, size_t size)
{
	static struct vs_pack seed;
	struct vs_pack changed = {0};

	if (!seed.size)
		make_seed(&seed);
	vs_pack_put_bytes(&changed, seed.bytes, seed.size);
	for (; size >= 3; data += 3, size -= 3)
		changed.bytes[((size_t)data[0] | (size_t)data[1] << 8) % changed.size] ^= data[2];
	try_chain(changed.bytes, changed.size);
	vs_pack_fini(&changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vs_index_directory directory;
	struct vs_replay *replay;
	uint8_t *exact;

	if (size < 2)
		return 0;
	/* Its own memory, of just that size: what is read beyond it is seen. */
	exact = malloc(size - 1);
	if (!exact)
		abort();
	memcpy(exact, data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		if (!vs_index_directory_get(&directory, exact, size - 1, 64))
			vs_index_directory_fini(&directory);
		break;
	case 1:
		replay = make_replay();
		(void)!vs_snapshot_get_sums(replay, exact, size - 1);
		vs_replay_destroy(replay);
		break;
	case 2:
		try_chain(exact, size - 1);
		break;
	default:
		try_changed(exact, size - 1);
	}
	free(exact);
	return 0;
}
