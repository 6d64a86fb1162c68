#ifndef SG_SHARE_STAGE_H
#define SG_SHARE_STAGE_H

/*
 * For tests of what processes share: two players on one card, what to tell them, and what NVML says
 * of the card meanwhile. The test itself uses no device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvml.h>

#include "share_player.h"

#define MIB ((uint64_t)1 << 20)

/* Two processes that share, with nothing but their contexts on the card. */
struct stage {
	struct sg_share_player exporter, importer;
	uint64_t idle;
};

static char card[64];

static inline uint64_t used_memory(void)
{
	nvmlDevice_t device;
	nvmlMemory_t memory;

	assert_int_equal(nvmlDeviceGetHandleByIndex(0, &device), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
	return memory.used;
}

static inline uint64_t used_by(pid_t pid)
{
	nvmlProcessInfo_t infos[64];
	unsigned int nr = 64;
	nvmlDevice_t device;

	assert_int_equal(nvmlDeviceGetHandleByIndex(0, &device), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &nr, infos), NVML_SUCCESS);
	for (unsigned int i = 0; i < nr; i++)
		if (infos[i].pid == (unsigned)pid)
			return infos[i].usedGpuMemory;
	return 0;
}

static inline int set_up(void **state)
{
	static struct stage stage;

	assert_int_equal(used_memory(), 0);
	stage.exporter = sg_share_player_start(card, NULL);
	stage.importer = sg_share_player_start(card, NULL);
	stage.idle = used_memory();
	*state = &stage;
	return 0;
}

/* Whatever happened: nobody is left, and nothing is charged. */
static inline int tear_down(void **state)
{
	struct stage *stage = *state;

	if (stage->exporter.pid)
		sg_share_player_dismiss(&stage->exporter);
	if (stage->importer.pid)
		sg_share_player_dismiss(&stage->importer);
	assert_int_equal(used_memory(), 0);
	return 0;
}

static inline void kill_player(struct sg_share_player *player)
{
	sg_share_player_kill(player);
	sg_share_player_bury(player);
	player->pid = 0;
}

static inline int order(struct sg_share_player *player, enum sg_share_order what, unsigned index)
{
	return sg_share_player_ask(player, what, index, 0).error;
}

/* Make something that must succeed; its number. */
static inline unsigned make(struct sg_share_player *player, enum sg_share_order what,
			    unsigned index, uint64_t size)
{
	struct sg_share_message answer = sg_share_player_ask(player, what, index, size);

	assert_int_equal(answer.error, cudaSuccess);
	return answer.index;
}

/* Hand over bytes or a descriptor; the answer may be an error. */
static inline struct sg_share_message hand(struct sg_share_player *player, enum sg_share_order what,
					   unsigned index, const struct sg_share_message *from,
					   uint64_t size)
{
	struct sg_share_message message = *from;

	message.order = what;
	message.index = index;
	message.size = size;
	return sg_share_player_tell(player, &message);
}

static inline struct sg_share_message get_handle(struct sg_share_player *player,
						 enum sg_share_order what, unsigned index)
{
	struct sg_share_message answer = sg_share_player_ask(player, what, index, 0);

	assert_int_equal(answer.error, cudaSuccess);
	return answer;
}

static inline void write_value(struct sg_share_player *player, unsigned index, uint64_t offset,
			       uint64_t value)
{
	struct sg_share_message message = {.order = SG_SHARE_WRITE,
					   .index = index,
					   .offset = offset,
					   .value = value,
					   .fd = -1};

	assert_int_equal(sg_share_player_tell(player, &message).error, cudaSuccess);
}

static inline uint64_t read_value(struct sg_share_player *player, unsigned index, uint64_t offset)
{
	struct sg_share_message message = {
		.order = SG_SHARE_READ, .index = index, .offset = offset, .fd = -1};
	struct sg_share_message answer = sg_share_player_tell(player, &message);

	assert_int_equal(answer.error, cudaSuccess);
	return answer.value;
}

/* main(): a player, or the tests, each with a stage of its own (STAGED). */
#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static inline int run_staged(int argc, char **argv, int (*run)(void))
{
	int status = sg_share_player_run(argc, argv);

	if (status >= 0)
		return status;
	snprintf(card, sizeof(card), "test-sharing-%d", (int)getpid());
	setenv("SOFTGPU_CARD", card, 1);
	if (nvmlInit() != NVML_SUCCESS)
		return 1;
	status = run();
	nvmlShutdown();
	return status;
}

#endif
