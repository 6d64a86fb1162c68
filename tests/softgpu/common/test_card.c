#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "card.h"
#include "card_actor.h"

#define CAPACITY ((uint64_t)100)

/* A card of that capacity on each of two devices. */
static struct sg_card *open_card(const char *name, uint64_t capacity)
{
	struct sg_config config = {.nr_devices = 2, .profile = {.memory_size = capacity}};
	struct sg_card *card = sg_card_open(name, &config);

	assert_non_null(card);
	return card;
}

static uint64_t get_used(struct sg_card *card, int device)
{
	uint64_t total, used;

	sg_card_get_usage(card, device, &total, &used);
	return used;
}

/* A name no other test, and no other run of this one, uses. */
static const char *make_name(const char *text)
{
	static char name[100];

	snprintf(name, sizeof(name), "test_card-%d-%s", (int)getpid(), text);
	return name;
}

/* Ends a child that shall run out by itself; its exit code. */
static int wait_for_exit(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void stop_actor(struct sg_card_actor *actor)
{
	sg_card_actor_kill(actor);
	sg_card_actor_bury(actor);
}

static void test_capacity_is_exact_to_the_byte(void **state)
{
	struct sg_card *card = open_card(NULL, CAPACITY);

	(void)state;
	assert_int_equal(sg_card_charge(card, 0, CAPACITY - 1), 0);
	assert_int_equal(sg_card_charge(card, 0, 2), -1);
	assert_int_equal(sg_card_charge(card, 0, 1), 0);
	assert_int_equal(sg_card_charge(card, 0, 1), -1);
	assert_int_equal(sg_card_charge(card, 0, 0), 0);
	sg_card_close(card);
}

static void test_charge_that_fails_takes_nothing(void **state)
{
	struct sg_card *card = open_card(NULL, CAPACITY);

	(void)state;
	assert_int_equal(sg_card_charge(card, 0, 60), 0);
	assert_int_equal(sg_card_charge(card, 0, 41), -1);
	assert_int_equal(sg_card_charge(card, 0, UINT64_MAX), -1);
	assert_int_equal(sg_card_charge(card, 0, UINT64_MAX - 59), -1); /* 60 + this wraps to 0 */
	assert_int_equal(get_used(card, 0), 60);
	assert_int_equal(sg_card_charge(card, 0, 40), 0);
	sg_card_close(card);
}

static void test_uncharge_gives_back_no_more_than_is_held(void **state)
{
	struct sg_card *card = open_card(NULL, CAPACITY);

	(void)state;
	sg_card_uncharge(card, 0, 10); /* before the first charge */
	assert_int_equal(get_used(card, 0), 0);
	assert_int_equal(sg_card_charge(card, 0, 60), 0);
	sg_card_uncharge(card, 0, 20);
	assert_int_equal(get_used(card, 0), 40);
	sg_card_uncharge(card, 0, 41);
	assert_int_equal(get_used(card, 0), 0);
	assert_int_equal(sg_card_charge(card, 0, CAPACITY + 1), -1);
	sg_card_close(card);
}

static void test_devices_have_memory_of_their_own(void **state)
{
	struct sg_card *card = open_card(NULL, CAPACITY);

	(void)state;
	assert_int_equal(sg_card_get_nr_devices(card), 2);
	assert_int_equal(sg_card_charge(card, 0, CAPACITY), 0);
	assert_int_equal(get_used(card, 1), 0);
	assert_int_equal(sg_card_charge(card, 1, CAPACITY), 0);
	sg_card_uncharge(card, 0, CAPACITY);
	assert_int_equal(get_used(card, 1), CAPACITY);
	assert_int_equal(sg_card_charge(card, 2, 1), -1); /* there is no third one */
	sg_card_close(card);
}

static void test_processes_share_a_named_card(void **state)
{
	const char *name = make_name("shared");
	struct sg_card_actor other = sg_card_actor_start(name, CAPACITY, 2);
	struct sg_card *card;

	(void)state;
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 1, 60).result, 0);
	card = open_card(name, CAPACITY);
	assert_int_equal(get_used(card, 1), 60);
	assert_int_equal(get_used(card, 0), 0);
	assert_int_equal(sg_card_charge(card, 1, 41), -1);
	assert_int_equal(sg_card_charge(card, 1, 40), 0);
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 1, 1).result, -1);
	/* One process cannot give back what is another's. */
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_UNCHARGE, 1, 80).result, 0);
	assert_int_equal(get_used(card, 1), 40);
	stop_actor(&other);
	sg_card_close(card);
}

static void test_first_creator_decides_devices_and_capacity(void **state)
{
	const char *name = make_name("first");
	struct sg_card *card = open_card(name, CAPACITY);
	struct sg_card_actor other = sg_card_actor_start(name, 7 * CAPACITY, 5);
	struct sg_card_reply reply = sg_card_actor_ask(&other, SG_CARD_REQUEST_USAGE, 0, 0);

	(void)state;
	assert_int_equal(reply.total, CAPACITY);
	assert_int_equal(reply.nr_devices, 2);
	stop_actor(&other);
	sg_card_close(card);
}

static void test_newcomers_at_once_make_one_card(void **state)
{
	const char *name = make_name("newcomers");
	struct sg_card_actor actors[8];
	int nr_served = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		actors[i] = sg_card_actor_start(name, CAPACITY, 1);
		sg_card_actor_send(&actors[i], SG_CARD_REQUEST_CHARGE, 0, 30);
	}
	for (int i = 0; i < 8; i++)
		nr_served += sg_card_actor_receive(&actors[i]).result == 0;
	assert_int_equal(nr_served, 3);
	for (int i = 0; i < 8; i++)
		stop_actor(&actors[i]);
}

static void test_different_names_do_not_share(void **state)
{
	struct sg_card_actor other = sg_card_actor_start(make_name("name"), CAPACITY, 2);
	struct sg_card *card = open_card(make_name("name2"), CAPACITY);

	(void)state;
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, CAPACITY).result, 0);
	assert_int_equal(get_used(card, 0), 0);
	assert_int_equal(sg_card_charge(card, 0, CAPACITY), 0);
	stop_actor(&other);
	sg_card_close(card);
}

static void test_card_without_name_is_private(void **state)
{
	struct sg_card_actor other = sg_card_actor_start(NULL, CAPACITY, 2);
	struct sg_card *card = open_card(NULL, CAPACITY);
	struct sg_card *second = open_card(NULL, CAPACITY);

	(void)state;
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, CAPACITY).result, 0);
	assert_int_equal(sg_card_charge(card, 0, CAPACITY), 0);
	assert_int_equal(sg_card_charge(second, 0, CAPACITY), 0);
	stop_actor(&other);
	sg_card_close(second);
	sg_card_close(card);
}

static void test_long_names_share_only_if_all_of_them_is_equal(void **state)
{
	struct sg_card *card, *same, *other;
	char name[1001];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	snprintf(name, 40, "test_card-%d-long-", (int)getpid());
	name[strlen(name)] = '-';
	name[sizeof(name) - 1] = '\0';
	card = open_card(name, CAPACITY);
	same = open_card(name, CAPACITY);
	name[sizeof(name) - 2] = 'x';
	other = open_card(name, CAPACITY);
	assert_int_equal(sg_card_charge(card, 0, 60), 0);
	assert_int_equal(get_used(same, 0), 60);
	assert_int_equal(get_used(other, 0), 0);
	sg_card_close(other);
	sg_card_close(same);
	sg_card_close(card);
}

static void test_killed_process_gives_back_while_still_a_zombie(void **state)
{
	const char *name = make_name("zombie");
	struct sg_card *card = open_card(name, CAPACITY);
	struct sg_card_actor other = sg_card_actor_start(name, CAPACITY, 2);

	(void)state;
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, CAPACITY).result, 0);
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 1, 60).result, 0);
	assert_int_equal(sg_card_charge(card, 0, 1), -1);
	sg_card_actor_kill(&other);
	/* The very next charge, with nobody having asked for the usage or waited. */
	assert_int_equal(sg_card_charge(card, 0, CAPACITY), 0);
	assert_int_equal(get_used(card, 1), 0);
	sg_card_actor_bury(&other);
	assert_int_equal(get_used(card, 0), CAPACITY);
	sg_card_close(card);
}

static void test_process_whose_first_thread_left_keeps_its_memory(void **state)
{
	const char *name = make_name("leader");
	struct sg_card_actor other = sg_card_actor_start(name, CAPACITY, 2);
	struct sg_card *card;

	(void)state;
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, 60).result, 0);
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_LEAVE, 0, 0).result, 0);
	/* A newcomer finds the card though only the process without its first thread has it. */
	card = open_card(name, CAPACITY);
	assert_int_equal(get_used(card, 0), 60);
	assert_int_equal(sg_card_charge(card, 0, 41), -1);
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, 40).result, 0);
	assert_int_equal(get_used(card, 0), CAPACITY);
	sg_card_actor_kill(&other);
	assert_int_equal(get_used(card, 0), 0);
	sg_card_actor_bury(&other);
	sg_card_close(card);
}

static void test_close_gives_everything_back(void **state)
{
	const char *name = make_name("close");
	struct sg_card *card = open_card(name, CAPACITY);
	struct sg_card_actor other = sg_card_actor_start(name, CAPACITY, 2);

	(void)state;
	sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, 60);
	sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 1, 70);
	assert_int_equal(get_used(card, 0), 60);
	sg_card_actor_ask(&other, SG_CARD_REQUEST_CLOSE, 0, 0);
	assert_int_equal(get_used(card, 0), 0);
	assert_int_equal(get_used(card, 1), 0);
	stop_actor(&other);
	sg_card_close(card);
}

static void test_processes_are_listed_with_what_they_hold(void **state)
{
	const char *name = make_name("list");
	struct sg_card *card = open_card(name, CAPACITY);
	struct sg_card_actor other = sg_card_actor_start(name, CAPACITY, 2);
	struct sg_card_process found[3];
	int mine;

	(void)state;
	assert_int_equal(sg_card_get_processes(card, 0, NULL, 0), 0);
	sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, 60);
	assert_int_equal(sg_card_charge(card, 0, 30), 0);
	assert_int_equal(sg_card_get_processes(card, 0, found, 3), 2);
	mine = found[0].pid == getpid() ? 0 : 1;
	assert_int_equal(found[mine].pid, getpid());
	assert_int_equal(found[mine].size, 30);
	assert_int_equal(found[1 - mine].pid, other.pid);
	assert_int_equal(found[1 - mine].size, 60);
	assert_int_equal(sg_card_get_processes(card, 1, found, 3), 0); /* hold nothing there */

	/* Too little room: how many there are, and nothing written behind the end. */
	found[1].pid = -7;
	assert_int_equal(sg_card_get_processes(card, 0, found, 1), 2);
	assert_int_equal(found[1].pid, -7);

	sg_card_actor_kill(&other);
	assert_int_equal(sg_card_get_processes(card, 0, found, 3), 1);
	assert_int_equal(found[0].pid, getpid());
	sg_card_actor_bury(&other);
	sg_card_close(card);
}

static void test_fork_child_holds_nothing_of_its_parent(void **state)
{
	struct sg_card *card = open_card(NULL, CAPACITY);
	pid_t pid;

	(void)state;
	assert_int_equal(sg_card_charge(card, 0, 60), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct sg_card_process found[2];
		int bad = 0;

		sg_card_uncharge(card, 0, 60);
		bad |= get_used(card, 0) != 60;
		bad |= sg_card_charge(card, 0, 30) != 0;
		bad |= sg_card_get_processes(card, 0, found, 2) != 2;
		bad |= sg_card_charge(card, 0, 11) != -1;
		sg_card_close(card);
		_exit(bad);
	}
	assert_int_equal(wait_for_exit(pid), 0);
	assert_int_equal(get_used(card, 0), 60);
	sg_card_uncharge(card, 0, 60); /* it is still the parent's to give */
	assert_int_equal(get_used(card, 0), 0);
	sg_card_close(card);
}

static void test_more_dead_processes_than_slots_are_no_obstacle(void **state)
{
	struct sg_card *card = open_card(NULL, CAPACITY * CAPACITY);

	(void)state;
	for (int i = 0; i < 1100; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(sg_card_charge(card, 0, 1) != 0);
		assert_int_equal(wait_for_exit(pid), 0);
	}
	assert_int_equal(get_used(card, 0), 0);
	sg_card_close(card);
}

/* Charges and gives back for ever. Says so by a byte when it is at it. */
static _Noreturn void hammer(struct sg_card *card, int to_parent)
{
	unsigned seed = (unsigned)getpid();

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test die first */
	for (unsigned long n = 0;; n++) {
		uint64_t size = (uint64_t)(rand_r(&seed) % 30 + 1);
		int device = rand_r(&seed) % 2;

		if (sg_card_charge(card, device, size) == 0)
			sg_card_uncharge(card, device, size);
		if (n == 10 && write(to_parent, "h", 1) != 1)
			_exit(1);
	}
}

/* A child that hammers; returns when it does. */
static pid_t start_hammer(struct sg_card *card, const int pipe_fds[2])
{
	pid_t pid = fork();
	char byte;

	assert_true(pid >= 0);
	if (pid == 0)
		hammer(card, pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	return pid;
}

static void kill_hammer(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

/*
 * Children die anywhere in charge and uncharge, most of them with the lock or in line for it. If
 * the lock died with one of them this would hang, if a half-done sum stayed it would show.
 */
static void test_process_killed_in_the_middle_of_a_charge_costs_nothing(void **state)
{
	enum {
		NR_CHILDREN = 4,
		NR_ROUNDS = 400
	};
	struct sg_card *card = open_card(make_name("hammer"), CAPACITY);
	pid_t pids[NR_CHILDREN];
	unsigned seed = 1;
	int pipe_fds[2];

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	for (int i = 0; i < NR_CHILDREN; i++)
		pids[i] = start_hammer(card, pipe_fds);
	for (int round = 0; round < NR_ROUNDS; round++) {
		pid_t *victim = &pids[round % NR_CHILDREN];

		for (int n = rand_r(&seed) % 50; n > 0; n--)
			if (sg_card_charge(card, 0, 10) == 0)
				sg_card_uncharge(card, 0, 10);
		kill_hammer(*victim);
		assert_true(get_used(card, 0) <= CAPACITY);
		assert_int_equal(wait_for_exit(*victim), -1);
		*victim = start_hammer(card, pipe_fds);
	}
	for (int i = 0; i < NR_CHILDREN; i++)
		kill_hammer(pids[i]);
	assert_int_equal(sg_card_charge(card, 0, CAPACITY), 0);
	assert_int_equal(sg_card_charge(card, 0, 1), -1);
	assert_int_equal(get_used(card, 0), CAPACITY);
	assert_int_equal(get_used(card, 1), 0);
	for (int i = 0; i < NR_CHILDREN; i++)
		assert_int_equal(wait_for_exit(pids[i]), -1);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	sg_card_close(card);
}

static void test_newcomer_after_the_last_process_finds_an_empty_card(void **state)
{
	const char *name = make_name("last");
	struct sg_card_actor other = sg_card_actor_start(name, CAPACITY, 2);
	struct sg_card *card;
	uint64_t total, used;

	(void)state;
	assert_int_equal(sg_card_actor_ask(&other, SG_CARD_REQUEST_CHARGE, 0, 60).result, 0);
	stop_actor(&other);
	card = open_card(name, CAPACITY / 2);
	sg_card_get_usage(card, 0, &total, &used);
	assert_int_equal(total, CAPACITY / 2); /* made anew, not found */
	assert_int_equal(used, 0);
	sg_card_close(card);
}

/* Entries of a folder whose name, or what they link to, contains the text. */
static int count_entries(const char *path, const char *text)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		char target[300] = "";

		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) < 0)
			target[0] = '\0';
		n += strstr(entry->d_name, text) || strstr(target, text);
	}
	closedir(dir);
	return n;
}

static void test_nothing_is_left_behind(void **state)
{
	const char *name = make_name("behind");
	int nr_descriptors = count_entries("/proc/self/fd", "");
	struct sg_card *card = open_card(name, CAPACITY);

	(void)state;
	assert_int_equal(sg_card_charge(card, 0, 1), 0);
	/* All there is while it lives: one descriptor of a file that has no place in any folder. */
	assert_int_equal(count_entries("/proc/self/fd", ""), nr_descriptors + 1);
	assert_int_equal(count_entries("/proc/self/fd", name), 1);
	assert_int_equal(count_entries("/dev/shm", name), 0);
	assert_int_equal(count_entries("/dev/shm", "softgpu"), 0);
	assert_int_equal(count_entries("/tmp", name), 0);
	sg_card_close(card);
	assert_int_equal(count_entries("/proc/self/fd", ""), nr_descriptors);
	assert_int_equal(count_entries("/dev/shm", name), 0);
	assert_int_equal(count_entries("/tmp", name), 0);
}

static void test_card_works_where_no_file_may_be_made(void **state)
{
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit none = {0, 0};
		struct sg_card *card;

		setrlimit(RLIMIT_FSIZE, &none);
		card = open_card(make_name("no-file"), CAPACITY);
		_exit(sg_card_charge(card, 0, CAPACITY) != 0 || sg_card_charge(card, 0, 1) == 0);
	}
	assert_int_equal(wait_for_exit(pid), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capacity_is_exact_to_the_byte),
		cmocka_unit_test(test_charge_that_fails_takes_nothing),
		cmocka_unit_test(test_uncharge_gives_back_no_more_than_is_held),
		cmocka_unit_test(test_devices_have_memory_of_their_own),
		cmocka_unit_test(test_processes_share_a_named_card),
		cmocka_unit_test(test_first_creator_decides_devices_and_capacity),
		cmocka_unit_test(test_newcomers_at_once_make_one_card),
		cmocka_unit_test(test_different_names_do_not_share),
		cmocka_unit_test(test_card_without_name_is_private),
		cmocka_unit_test(test_card_works_where_no_file_may_be_made),
		cmocka_unit_test(test_long_names_share_only_if_all_of_them_is_equal),
		cmocka_unit_test(test_killed_process_gives_back_while_still_a_zombie),
		cmocka_unit_test(test_process_whose_first_thread_left_keeps_its_memory),
		cmocka_unit_test(test_close_gives_everything_back),
		cmocka_unit_test(test_processes_are_listed_with_what_they_hold),
		cmocka_unit_test(test_fork_child_holds_nothing_of_its_parent),
		cmocka_unit_test(test_more_dead_processes_than_slots_are_no_obstacle),
		cmocka_unit_test(test_process_killed_in_the_middle_of_a_charge_costs_nothing),
		cmocka_unit_test(test_newcomer_after_the_last_process_finds_an_empty_card),
		cmocka_unit_test(test_nothing_is_left_behind),
	};
	int code = sg_card_actor_run(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
