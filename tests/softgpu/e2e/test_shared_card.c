/*
 * Processes on one card: they fight for its memory, see each other, are killed, and leave nothing
 * behind. The test itself only looks on, through NVML.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <nvml.h>

#include "card_player.h"

#define MIB       ((uint64_t)1 << 20)
#define PAGE      (2 * MIB)
#define NR_STORMS 4
#define NR_KILLS  80

static char card[64];

static uint64_t used_memory(void)
{
	nvmlDevice_t device;
	nvmlMemory_t memory;

	assert_int_equal(nvmlDeviceGetHandleByIndex(0, &device), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
	return memory.used;
}

/* What NVML says the process holds, 0 if it knows no such process. */
static uint64_t used_by(pid_t pid)
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

static uint64_t free_for(struct sg_card_player *player)
{
	struct sg_card_player_answer answer =
		sg_card_player_ask(player, SG_CARD_PLAYER_GET_FREE, 0);

	assert_int_equal(answer.error, cudaSuccess);
	return answer.size;
}

static int ask_malloc(struct sg_card_player *player, uint64_t size)
{
	return sg_card_player_ask(player, SG_CARD_PLAYER_MALLOC, size).error;
}

/* All that is free but a page. */
static void take_nearly_all(struct sg_card_player *player)
{
	assert_int_equal(ask_malloc(player, free_for(player) - PAGE), cudaSuccess);
}

static void test_second_process_finds_the_card_full(void **state)
{
	struct sg_card_player first = sg_card_player_start(card);
	struct sg_card_player second = sg_card_player_start(card);

	(void)state;
	take_nearly_all(&first);
	assert_int_equal(free_for(&second), PAGE);
	assert_int_equal(ask_malloc(&second, 100 * MIB), cudaErrorMemoryAllocation);
	assert_int_equal(ask_malloc(&second, PAGE), cudaSuccess);
	assert_int_equal(ask_malloc(&second, 1), cudaErrorMemoryAllocation);
	assert_int_equal(ask_malloc(&first, 1), cudaErrorMemoryAllocation);
	/* What one gives, the other can have. */
	assert_int_equal(sg_card_player_ask(&first, SG_CARD_PLAYER_FREE, 0).error, cudaSuccess);
	assert_int_equal(ask_malloc(&second, 100 * MIB), cudaSuccess);
	sg_card_player_dismiss(&first);
	sg_card_player_dismiss(&second);
	assert_int_equal(used_memory(), 0);
}

static void test_killed_process_gives_its_memory_to_the_very_next_malloc(void **state)
{
	struct sg_card_player first = sg_card_player_start(card);
	struct sg_card_player second = sg_card_player_start(card);

	(void)state;
	take_nearly_all(&first);
	assert_int_equal(ask_malloc(&second, 500 * MIB), cudaErrorMemoryAllocation);
	sg_card_player_kill(&first); /* dead, and nobody has waited for it */
	assert_int_equal(ask_malloc(&second, 500 * MIB), cudaSuccess);
	sg_card_player_bury(&first);
	sg_card_player_dismiss(&second);
}

static void test_killed_and_buried_process_gives_its_memory_back(void **state)
{
	struct sg_card_player first = sg_card_player_start(card);
	struct sg_card_player second = sg_card_player_start(card);
	uint64_t before = free_for(&second);

	(void)state;
	take_nearly_all(&first);
	sg_card_player_kill(&first);
	sg_card_player_bury(&first);
	/* With what its context had cost. */
	assert_true(free_for(&second) > before);
	assert_int_equal(ask_malloc(&second, before), cudaSuccess);
	sg_card_player_dismiss(&second);
}

static void test_process_that_leaves_without_freeing_gives_its_memory_back(void **state)
{
	struct sg_card_player first = sg_card_player_start(card);
	struct sg_card_player second = sg_card_player_start(card);

	(void)state;
	take_nearly_all(&first);
	sg_card_player_dismiss(&first);
	assert_int_equal(ask_malloc(&second, 500 * MIB), cudaSuccess);
	sg_card_player_dismiss(&second);
}

static void test_nvml_sees_what_each_process_holds(void **state)
{
	struct sg_card_player first = sg_card_player_start(card);
	struct sg_card_player second = sg_card_player_start(card);
	uint64_t context = used_by(first.pid);

	(void)state;
	assert_true(context > 0);
	assert_int_equal(used_by(second.pid), context);
	assert_int_equal(ask_malloc(&first, 100 * MIB), cudaSuccess);
	assert_int_equal(used_by(first.pid), context + 100 * MIB);
	assert_int_equal(used_by(second.pid), context);
	assert_int_equal(used_memory(), 2 * context + 100 * MIB);
	sg_card_player_kill(&first);
	assert_int_equal(used_by(first.pid), 0);
	assert_int_equal(used_memory(), context);
	sg_card_player_bury(&first);
	sg_card_player_dismiss(&second);
	assert_int_equal(used_memory(), 0);
}

static void test_cards_of_other_names_are_apart(void **state)
{
	struct sg_card_player first = sg_card_player_start(card);
	char other[80];
	struct sg_card_player second;
	uint64_t before;

	(void)state;
	snprintf(other, sizeof(other), "%s-other", card);
	second = sg_card_player_start(other);
	before = free_for(&second);
	take_nearly_all(&first);
	assert_int_equal(free_for(&second), before);
	assert_int_equal(used_by(second.pid), 0);
	sg_card_player_dismiss(&first);
	sg_card_player_dismiss(&second);
}

/* Killed wherever they are, locks held or not. A lock that dies would stop the others for good. */
static void test_processes_killed_at_random_leave_an_empty_card(void **state)
{
	struct sg_card_player storms[NR_STORMS], after;
	unsigned seed = 20, i;

	(void)state;
	for (i = 0; i < NR_STORMS; i++)
		storms[i] = sg_card_player_start_storm(card, i);
	for (i = 0; i < NR_KILLS; i++) {
		struct sg_card_player *victim = &storms[(unsigned)rand_r(&seed) % NR_STORMS];

		sg_card_player_kill(victim);
		if (i % 2) {
			struct sg_card_player dead = *victim;

			*victim = sg_card_player_start_storm(card, 1000 + i);
			sg_card_player_bury(&dead);
		} else {
			sg_card_player_bury(victim);
			*victim = sg_card_player_start_storm(card, 1000 + i);
		}
	}
	for (i = 0; i < NR_STORMS; i++)
		sg_card_player_kill(&storms[i]);
	assert_int_equal(used_memory(), 0);
	for (i = 0; i < NR_STORMS; i++)
		sg_card_player_bury(&storms[i]);
	after = sg_card_player_start(card);
	take_nearly_all(&after);
	sg_card_player_dismiss(&after);
	assert_int_equal(used_memory(), 0);
}

/* Runs in the child: the first wrong step's number, or 0. */
static int use_and_fork_again(void)
{
	void *data;
	int status;
	pid_t pid;

	if (cudaMalloc(&data, MIB) != cudaSuccess)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(cudaMalloc(&data, MIB) == cudaErrorInitializationError ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return 2;
	if (used_by(getpid()) < MIB)
		return 3;
	return cudaFree(data) == cudaSuccess ? 0 : 4;
}

/* As with a real GPU: whoever forks after the first use has a child without a device. */
static void test_child_has_a_device_unless_its_parent_has_used_one(void **state)
{
	int status = -1;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(use_and_fork_again());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(used_memory(), 0);
}

/* Nobody else uses the name of our card, so any file that bears it is ours. */
static void count_files(const char *folder, unsigned *nr)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strstr(entry->d_name, card) || strcasestr(entry->d_name, "softgpu"))
			++*nr;
	if (dir)
		closedir(dir);
}

/* Shared memory that has a name in a folder would outlive a killed process; a memfd does not. */
static void test_all_shared_memory_is_nameless(void **state)
{
	struct sg_card_player player = sg_card_player_start(card);
	char path[64], line[4096 + 128];
	unsigned nr_shared = 0;
	FILE *maps;

	(void)state;
	assert_int_equal(ask_malloc(&player, 10 * MIB), cudaSuccess);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)player.pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		char mode[8] = "";

		if (sscanf(line, "%*s %7s", mode) != 1 || mode[3] != 's')
			continue;
		nr_shared++;
		assert_non_null(strstr(line, "/memfd:"));
	}
	fclose(maps);
	assert_true(nr_shared > 0);
	sg_card_player_dismiss(&player);
}

static void test_nothing_is_left_in_shared_folders(void **state)
{
	static const char *const folders[] = {"/dev/shm", "/tmp", "/var/tmp", "/run", "/run/lock"};
	struct sg_card_player player = sg_card_player_start(card);
	unsigned nr = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		count_files(folders[i], &nr); /* not even while it is used */
	sg_card_player_kill(&player);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		count_files(folders[i], &nr);
	sg_card_player_bury(&player);
	assert_int_equal(nr, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second_process_finds_the_card_full),
		cmocka_unit_test(test_killed_process_gives_its_memory_to_the_very_next_malloc),
		cmocka_unit_test(test_killed_and_buried_process_gives_its_memory_back),
		cmocka_unit_test(test_process_that_leaves_without_freeing_gives_its_memory_back),
		cmocka_unit_test(test_nvml_sees_what_each_process_holds),
		cmocka_unit_test(test_cards_of_other_names_are_apart),
		cmocka_unit_test(test_processes_killed_at_random_leave_an_empty_card),
		cmocka_unit_test(test_child_has_a_device_unless_its_parent_has_used_one),
		cmocka_unit_test(test_all_shared_memory_is_nameless),
		cmocka_unit_test(test_nothing_is_left_in_shared_folders),
	};
	int status = sg_card_player_run(argc, argv);

	if (status >= 0)
		return status;
	snprintf(card, sizeof(card), "test-shared-%d", (int)getpid());
	setenv("SOFTGPU_CARD", card, 1);
	if (nvmlInit() != NVML_SUCCESS)
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	nvmlShutdown();
	return status;
}
