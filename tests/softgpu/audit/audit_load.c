/*
 * Loads libraries as programs do and prints what it got, one line each: "NAME: PATH TAG", or
 * "NAME: not loaded".
 *
 *   audit_load NAME...            dlopen
 *   audit_load --space NAME...    dlmopen, each into a namespace of its own
 *   audit_load --global           whose fake_tag the program itself would call
 *   audit_load --threads NAME...  eight threads load and unload all of them at the same time;
 *                                 prints "same" if every answer was the one the first round gave
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_THREADS 8
#define NR_ROUNDS  200

typedef const char *(*tag_fn)(void);

struct work {
	char **names;
	int nr_names;
	const bool *expected;
	bool is_same;
};

static tag_fn find_tag(void *handle)
{
	tag_fn fn;

	*(void **)&fn = dlsym(handle, "fake_tag");
	return fn;
}

static void print_library(const char *name, void *handle)
{
	struct link_map *map;
	tag_fn tag;

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
		printf("%s: not loaded\n", name);
		return;
	}
	tag = find_tag(handle);
	printf("%s: %s %s\n", name, map->l_name, tag ? tag() : "untagged");
}

static void *load_repeatedly(void *arg)
{
	struct work *work = arg;

	for (int round = 0; round < NR_ROUNDS; round++) {
		for (int i = 0; i < work->nr_names; i++) {
			void *handle = dlopen(work->names[i], RTLD_NOW | RTLD_LOCAL);

			work->is_same &= (handle != NULL) == work->expected[i];
			if (handle)
				dlclose(handle);
		}
	}
	return NULL;
}

static int load_in_threads(char **names, int nr_names)
{
	struct work works[NR_THREADS];
	pthread_t threads[NR_THREADS];
	bool *expected = calloc((size_t)nr_names, sizeof(*expected));
	bool is_same = true;

	if (!expected)
		return 1;
	for (int i = 0; i < nr_names; i++) {
		void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		expected[i] = handle != NULL;
		print_library(names[i], handle);
		if (handle)
			dlclose(handle);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		works[i] = (struct work){names, nr_names, expected, true};
		if (pthread_create(&threads[i], NULL, load_repeatedly, &works[i]) != 0)
			return 1;
	}
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		is_same &= works[i].is_same;
	}
	printf("%s\n", is_same ? "same" : "different");
	free(expected);
	return 0;
}

static bool has_foreign_mapping(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[8192];
	bool found = false;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "/foreign/") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	bool in_space = argc > 1 && !strcmp(argv[1], "--space");

	if (argc > 1 && !strcmp(argv[1], "--threads"))
		return load_in_threads(argv + 2, argc - 2);
	if (argc > 1 && !strcmp(argv[1], "--global")) {
		tag_fn tag = find_tag(RTLD_DEFAULT);

		puts(tag ? tag() : "nobody");
		return 0;
	}
	for (int i = in_space ? 2 : 1; i < argc; i++) {
		void *handle;

		handle = in_space ? dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW | RTLD_LOCAL)
				  : dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		print_library(argv[i], handle);
	}
	if (has_foreign_mapping())
		puts("FOREIGN FILE MAPPED");
	return 0;
}
