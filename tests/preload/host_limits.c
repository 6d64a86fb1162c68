/* Sets itself limits before it says anything: host_limits MODE ... */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vramscope.h>

#define NR_BLOCKS 1000ul

static vs_pool pool;

static void say_blocks(unsigned long nr)
{
	for (unsigned long i = 1; i <= nr; i++)
		vs_pool_alloc(pool, (const void *)(uintptr_t)i, i * 4711);
}

static int set_limit(__rlimit_resource_t what, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(what, &limit) < 0)
		return -1;
	limit.rlim_cur = value;
	return setrlimit(what, &limit);
}

/* All descriptors but a few are in use. */
static int use_up_files(int nr_left)
{
	int last = -1, fd;

	if (set_limit(RLIMIT_NOFILE, 64) < 0)
		return 1;
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	for (int i = 0; i < nr_left; i++)
		close(last - i);
	pool = vs_pool_create("files", 0, 0);
	say_blocks(NR_BLOCKS);
	/* What was free still is. */
	for (int i = 0; i < nr_left; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			return 2;
	puts("done");
	return 0;
}

/* Pages this process has mapped, by the kernel's count. */
static unsigned long get_nr_pages(void)
{
	unsigned long nr = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%lu", &nr) != 1)
		exit(3);
	fclose(file);
	return nr;
}

/* Not much address space is left. */
static int use_up_addresses(unsigned long left)
{
	unsigned long size = get_nr_pages() * (unsigned long)sysconf(_SC_PAGESIZE) + left;

	if (set_limit(RLIMIT_AS, size) < 0)
		return 1;
	pool = vs_pool_create("addresses", 0, 0);
	say_blocks(NR_BLOCKS);
	puts("done");
	return 0;
}

/* Files may become no larger from now on. The signal for it is nothing this program expects. */
static int keep_files_small(void)
{
	pool = vs_pool_create("small", 0, 0);
	say_blocks(NR_BLOCKS);
	if (set_limit(RLIMIT_FSIZE, 512) < 0)
		return 1;
	puts("done");
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "files") == 0 && argc == 3)
		return use_up_files(atoi(argv[2]));
	if (strcmp(mode, "addresses") == 0 && argc == 3)
		return use_up_addresses(strtoul(argv[2], NULL, 10));
	if (strcmp(mode, "small-files") == 0)
		return keep_files_small();
	return 2;
}
