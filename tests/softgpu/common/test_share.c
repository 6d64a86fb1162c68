/*
 * The table of what is shared, by itself. Other processes are children: one goes on with the card
 * its parent has opened, and holds nothing of it.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "card.h"
#include "share.h"

#define MIB      ((uint64_t)1 << 20)
#define CAPACITY (64 * MIB)

static struct sg_card *card;

static int begin(void **state)
{
	const struct sg_config config = {.nr_devices = 2, .profile.memory_size = CAPACITY};

	(void)state;
	card = sg_card_open(NULL, &config);
	return card ? 0 : -1;
}

static uint64_t get_used(void)
{
	uint64_t total, used;

	sg_card_get_usage(card, 0, &total, &used);
	assert_int_equal(total, CAPACITY);
	return used;
}

static int end(void **state)
{
	(void)state;
	assert_int_equal(get_used(), 0);
	sg_card_close(card);
	return 0;
}

/* Memory of that size in the card's file, charged to device 0. */
static struct sg_share_key create_memory(uint64_t size, struct sg_share *share)
{
	struct sg_share_key key;

	*share = (struct sg_share){.device = 0, .size = size};
	assert_int_equal(sg_card_charge(card, 0, size), 0);
	assert_int_equal(sg_share_create(card, SG_SHARE_MEMORY, share, &key), 0);
	return key;
}

/* A child that does something, says that it has, and waits to be let go or killed. */
struct child {
	pid_t pid;
	int to;
};

static struct child start_child(int (*act)(const void *argument), const void *argument)
{
	int to[2], from[2], result = -1;
	struct child child;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		close(to[1]);
		result = act(argument);
		if (write(from[1], &result, sizeof(result)) != sizeof(result) ||
		    read(to[0], &result, sizeof(result)) != 0)
			_exit(1);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	assert_int_equal(read(from[0], &result, sizeof(result)), sizeof(result));
	assert_int_equal(result, 0);
	close(from[0]);
	return child;
}

static void kill_child(struct child *child)
{
	siginfo_t info;

	assert_int_equal(kill(child->pid, SIGKILL), 0);
	/* Dead, and nobody has waited for it. */
	assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
	close(child->to);
}

static void bury(struct child *child)
{
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static int open_key(const void *key)
{
	struct sg_share share;

	return sg_share_open(card, key, &share);
}

static void test_charge_moves_to_the_entry_and_goes_with_it(void **state)
{
	struct sg_share share;
	struct sg_share_key key = create_memory(8 * MIB, &share);

	(void)state;
	assert_int_equal(get_used(), 8 * MIB);
	sg_card_uncharge(card, 0, 8 * MIB); /* it is not the process's any more */
	assert_int_equal(get_used(), 8 * MIB);
	sg_share_close(card, &key);
	assert_int_equal(get_used(), 0);
	assert_false(sg_share_exists(card, &key));
}

static void test_process_closes_as_often_as_it_has_opened(void **state)
{
	struct sg_share share, again;
	struct sg_share_key key = create_memory(2 * MIB, &share);

	(void)state;
	assert_int_equal(sg_share_open(card, &key, &again), 0);
	assert_int_equal(again.offset, share.offset);
	assert_int_equal(again.pid, getpid());
	sg_share_close(card, &key);
	assert_true(sg_share_exists(card, &key));
	sg_share_close(card, &key);
	assert_false(sg_share_exists(card, &key));
	assert_int_equal(sg_share_open(card, &key, &again), -1);
	sg_share_close(card, &key); /* once too often is no harm */
}

static void test_entry_lives_while_another_process_holds_it(void **state)
{
	struct sg_share share;
	struct sg_share_key key = create_memory(2 * MIB, &share);
	struct child child = start_child(open_key, &key);

	(void)state;
	sg_share_close(card, &key);
	assert_true(sg_share_exists(card, &key));
	assert_int_equal(get_used(), 2 * MIB);
	kill_child(&child);
	assert_int_equal(get_used(), 0);
	assert_false(sg_share_exists(card, &key));
	bury(&child);
}

static int create_and_stay(const void *mailbox)
{
	struct sg_share share = {.device = 0, .size = 4 * MIB};
	struct sg_share_key *key = *(struct sg_share_key *const *)mailbox;

	return sg_card_charge(card, 0, 4 * MIB) ||
	       sg_share_create(card, SG_SHARE_MEMORY, &share, key);
}

static void test_entry_outlives_the_process_that_made_it(void **state)
{
	struct sg_card_process processes[8];
	struct sg_share share;
	struct sg_share_key *key =
		mmap(NULL, sizeof(*key), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child = start_child(create_and_stay, &key);

	(void)state;
	assert_int_equal(sg_share_open(card, key, &share), 0);
	assert_int_equal(share.pid, child.pid);
	/* It counts as its maker's first, then as that of who has it. */
	assert_int_equal(sg_card_get_processes(card, 0, processes, 8), 1);
	assert_int_equal(processes[0].pid, child.pid);
	kill_child(&child);
	assert_int_equal(get_used(), 4 * MIB);
	assert_int_equal(sg_card_get_processes(card, 0, processes, 8), 1);
	assert_int_equal(processes[0].pid, getpid());
	assert_int_equal(processes[0].size, 4 * MIB);
	bury(&child);
	sg_share_close(card, key);
	munmap(key, sizeof(*key));
}

static void test_entry_of_a_killed_process_is_gone(void **state)
{
	struct sg_share share;
	struct sg_share_key *key =
		mmap(NULL, sizeof(*key), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child = start_child(create_and_stay, &key);

	(void)state;
	kill_child(&child);
	assert_int_equal(sg_share_open(card, key, &share), -1); /* though nobody has looked yet */
	bury(&child);
	munmap(key, sizeof(*key));
}

static void test_descriptor_holds_its_entry(void **state)
{
	struct sg_share share;
	struct sg_share_key key = create_memory(2 * MIB, &share), found;
	int fd = sg_share_export(card, &key), copy;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	sg_share_close(card, &key);
	assert_int_equal(get_used(), 2 * MIB);
	copy = dup(fd);
	close(fd);
	assert_int_equal(get_used(), 2 * MIB);
	assert_int_equal(sg_share_identify(card, copy, &found), 0);
	assert_memory_equal(&found, &key, sizeof(key));
	assert_int_equal(sg_share_open(card, &found, &share), 0);
	close(copy);
	assert_int_equal(get_used(), 2 * MIB);
	sg_share_close(card, &key);
	assert_int_equal(get_used(), 0);
}

static void test_only_descriptors_of_the_card_are_known(void **state)
{
	const struct sg_config config = {.nr_devices = 1, .profile.memory_size = CAPACITY};
	struct sg_card *other = sg_card_open(NULL, &config);
	struct sg_share share;
	struct sg_share_key key = create_memory(2 * MIB, &share), found;
	int fd = sg_share_export(card, &key), file = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(sg_share_identify(other, fd, &found), -1);
	assert_true(sg_share_get_card_id(other) != sg_share_get_card_id(card));
	assert_int_equal(sg_share_identify(card, file, &found), -1);
	assert_int_equal(sg_share_identify(card, -1, &found), -1);
	assert_int_equal(sg_share_identify(card, sg_share_get_file(card), &found), -1);
	close(file);
	close(fd);
	sg_share_close(card, &key);
	sg_card_close(other);
}

static void test_key_names_one_entry_for_good(void **state)
{
	struct sg_share share;
	struct sg_share_key first = create_memory(2 * MIB, &share), second, wrong;

	(void)state;
	sg_share_close(card, &first);
	second = create_memory(2 * MIB, &share);
	assert_int_equal(second.index, first.index);
	assert_int_equal(sg_share_open(card, &first, &share), -1);
	wrong = second;
	wrong.kind = SG_SHARE_POOL;
	assert_int_equal(sg_share_open(card, &wrong, &share), -1);
	wrong = second;
	wrong.index = UINT32_MAX;
	assert_int_equal(sg_share_open(card, &wrong, &share), -1);
	wrong.id = 0;
	assert_int_equal(sg_share_open(card, &wrong, &share), -1);
	sg_share_close(card, &second);
}

/* Bytes of host memory behind the card's file. */
static uint64_t get_file_usage(void)
{
	struct stat st;

	assert_int_equal(fstat(sg_share_get_file(card), &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void test_bytes_go_with_the_entry(void **state)
{
	struct sg_share share, next;
	struct sg_share_key key = create_memory(8 * MIB, &share);
	char *bytes = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED,
			   sg_share_get_file(card), (off_t)share.offset);
	uint64_t before = get_file_usage();

	(void)state;
	assert_ptr_not_equal(bytes, MAP_FAILED);
	memset(bytes, 1, 8 * MIB);
	munmap(bytes, 8 * MIB);
	assert_true(get_file_usage() >= before + 8 * MIB);
	sg_share_close(card, &key);
	assert_true(get_file_usage() < before + MIB);
	key = create_memory(8 * MIB, &next);
	assert_true(next.offset >= share.offset + 8 * MIB); /* nobody meets old bytes */
	sg_share_close(card, &key);
}

static void test_table_can_be_full(void **state)
{
	static struct sg_share_key keys[SG_SHARE_MAX];
	struct sg_share share = {.device = -1};
	struct sg_share_key one_more;

	(void)state;
	for (int i = 0; i < SG_SHARE_MAX; i++)
		assert_int_equal(sg_share_create(card, SG_SHARE_EVENT, &share, &keys[i]), 0);
	assert_int_equal(sg_share_create(card, SG_SHARE_EVENT, &share, &one_more), -1);
	sg_share_close(card, &keys[77]);
	assert_int_equal(sg_share_create(card, SG_SHARE_EVENT, &share, &keys[77]), 0);
	for (int i = 0; i < SG_SHARE_MAX; i++)
		sg_share_close(card, &keys[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_charge_moves_to_the_entry_and_goes_with_it),
		TEST(test_process_closes_as_often_as_it_has_opened),
		TEST(test_entry_lives_while_another_process_holds_it),
		TEST(test_entry_outlives_the_process_that_made_it),
		TEST(test_entry_of_a_killed_process_is_gone),
		TEST(test_descriptor_holds_its_entry),
		TEST(test_only_descriptors_of_the_card_are_known),
		TEST(test_key_names_one_entry_for_good),
		TEST(test_bytes_go_with_the_entry),
		TEST(test_table_can_be_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
