#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything the driver could listen to. */
static void clear_environment(void)
{
	static const char *const prefixes[] = {"SOFTGPU_", "CUDA_"};
	char name[100];

	for (size_t i = 0; environ && environ[i];) {
		size_t length = strcspn(environ[i], "=");
		bool is_ours = false;

		for (size_t p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++)
			if (!strncmp(environ[i], prefixes[p], strlen(prefixes[p])))
				is_ours = length < sizeof(name);
		if (!is_ours) {
			i++;
			continue;
		}
		memcpy(name, environ[i], length);
		name[length] = '\0';
		unsetenv(name);
	}
}

void sg_rig_set_environment(const char *const variables[])
{
	clear_environment();
	for (size_t i = 0; variables[i]; i++) {
		char name[100];
		size_t length = strcspn(variables[i], "=");

		assert_true(length < sizeof(name));
		memcpy(name, variables[i], length);
		name[length] = '\0';
		setenv(name, variables[i] + length + 1, 1);
	}
}

CUcontext sg_rig_open(void)
{
	CUcontext context;

	assert_ok(cuInit(0));
	assert_ok(cuCtxCreate(&context, NULL, 0, 0));
	return context;
}

size_t sg_rig_get_free(void)
{
	size_t free_size, total;

	assert_ok(cuMemGetInfo(&free_size, &total));
	return free_size;
}

uint64_t sg_rig_draw(uint64_t *seed)
{
	/* xorshift64*; zero would stay zero */
	uint64_t x = *seed ? *seed : 1;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*seed = x;
	return x * 0x2545f4914f6cdd1d;
}

uint64_t sg_rig_draw_below(uint64_t *seed, uint64_t limit)
{
	return (sg_rig_draw(seed) >> 11) % limit;
}

size_t sg_rig_get_file_size(const char *name)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char prefix[100];
	size_t size = 0;

	assert_non_null(dir);
	snprintf(prefix, sizeof(prefix), "/memfd:%s", name);
	while ((entry = readdir(dir))) {
		char target[300];
		struct stat st;
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (!strncmp(target, prefix, strlen(prefix)) &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			size += (size_t)st.st_blocks * 512;
	}
	closedir(dir);
	return size;
}

void sg_rig_run(const char *scene, const char *const variables[])
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		sg_rig_set_environment(variables);
		execl("/proc/self/exe", "test", scene, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("scene %s ended with status 0x%x", scene, (unsigned)status);
}

int sg_rig_play(int argc, char **argv, const struct sg_rig_scene *scenes, size_t nr_scenes)
{
	if (argc < 2)
		return -1;
	for (size_t i = 0; i < nr_scenes; i++) {
		const struct CMUnitTest test = {scenes[i].name, scenes[i].play, NULL, NULL, NULL};
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (strcmp(argv[1], scenes[i].name) != 0)
			continue;
		/* What goes wrong is said on standard error; that all is well need not be. */
		if (null >= 0)
			dup2(null, STDOUT_FILENO);
		return _cmocka_run_group_tests("scene", &test, 1, NULL, NULL) ? 1 : 0;
	}
	fprintf(stderr, "there is no scene %s\n", argv[1]);
	return 2;
}
