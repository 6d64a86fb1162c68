/* Lives under hard conditions: host_files MODE ... */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <vramscope.h>

static vs_pool pool;

static void say_blocks(unsigned long nr)
{
	for (unsigned long i = 1; i <= nr; i++)
		vs_pool_alloc(pool, (const void *)(uintptr_t)i, 1);
}

/* All open descriptors as bits; they are small here. */
static unsigned long open_files(void)
{
	unsigned long files = 0;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			files |= 1ul << fd;
	return files;
}

/* Files and their limits are the program's. */
static int descriptors(void)
{
	unsigned long before = open_files();

	pool = vs_pool_create("descriptors", 0, 0);
	say_blocks(10);
	printf("%s\n", open_files() == before ? "same" : "different");
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int fd = 3; fd < 64; fd++)
		if (open("mine", O_WRONLY | O_CREAT, 0600) < 0)
			return 1;
	say_blocks(50000);
	return 0;
}

/* Where the profiler has no table of files of its own: some number from 500 on. */
static int find_foreign_file(void)
{
	static const struct timespec nap = {0, 1000000};

	for (int i = 0; i < 20000; i++) {
		for (int fd = 500; fd < 1024; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				return fd;
		nanosleep(&nap, NULL);
	}
	return -1;
}

/* A program that closes what it does not know, and opens a file of its own there. */
static int close_theirs(void)
{
	struct stat file;
	int fd, mine;

	pool = vs_pool_create("closed", 0, 0);
	say_blocks(10);
	fd = find_foreign_file();
	mine = open("mine", O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || dup2(mine, fd) < 0)
		return 1;
	say_blocks(50000);
	/* Behind all that might be written into it. */
	return fstat(fd, &file) < 0 || file.st_size != 0;
}

/* The reader of a pipe sees its end when the program closes it, trace or not. */
static int pipes(void)
{
	char byte;
	int ends[2];

	if (pipe(ends) < 0)
		return 1;
	pool = vs_pool_create("pipes", 0, 0);
	say_blocks(10);
	close(ends[1]);
	return read(ends[0], &byte, 1) != 0;
}

/* With stderr closed, the next file opened is number 2: nobody may write into it. */
static int closed_stderr(void)
{
	struct stat file;
	int fd;

	close(2);
	fd = open("data", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd != 2)
		return 1;
	pool = vs_pool_create("closed", 0, 0);
	say_blocks(10);
	return fstat(fd, &file) < 0 || file.st_size != 0;
}

/* A pipe nobody reads any more: no SIGPIPE but the program's own. */
static int broken_stderr(void)
{
	int ends[2];

	if (pipe(ends) < 0 || dup2(ends[1], 2) < 0)
		return 1;
	close(ends[0]);
	close(ends[1]);
	pool = vs_pool_create("broken", 0, 0);
	say_blocks(10);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "descriptors") == 0)
		return descriptors();
	if (strcmp(mode, "close-ours") == 0)
		return close_theirs();
	if (strcmp(mode, "pipes") == 0)
		return pipes();
	if (strcmp(mode, "closed-stderr") == 0)
		return closed_stderr();
	if (strcmp(mode, "broken-stderr") == 0)
		return broken_stderr();
	if (strcmp(mode, "blocks") == 0 && argc == 3) {
		pool = vs_pool_create("blocks", 0, 0);
		say_blocks(strtoul(argv[2], NULL, 10));
		puts("done");
		return 0;
	}
	return 2;
}
