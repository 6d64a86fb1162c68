/*
 * Writes the list that is installed beside the stand-ins as profiles.txt: what `softgpu-run --list`
 * prints, and what the launchers check their arguments by. Two tables with a head each and an empty
 * line between them; the first word of a row is the name of a profile, or of a field.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "profile_field.h"

static void print_profiles(void)
{
	const struct sg_profile *p;

	printf("%-11s %-24s %5s %4s %11s %9s %8s\n", "profile", "name", "cc", "SMs", "memory MiB",
	       "NVML MiB", "context");
	for (size_t i = 0; (p = sg_profile_get(i)); i++)
		printf("%-11s %-24s %3d.%d %4d %11llu %9llu %8llu\n", p->key, p->name, p->cc / 10,
		       p->cc % 10, p->nr_multiprocessors,
		       (unsigned long long)(p->memory_size / SG_MIB),
		       (unsigned long long)((p->memory_size + p->reserved_size) / SG_MIB),
		       (unsigned long long)(p->context_size / SG_MIB));
}

static void print_fields(void)
{
	const char *name, *meaning;

	printf("%-17s %-25s %s\n", "field", "variable", "meaning");
	for (size_t i = 0; sg_profile_field_describe(i, &name, &meaning); i++) {
		char word[18] = "";

		for (size_t c = 0; name[c] && c + 1 < sizeof(word); c++)
			word[c] = name[c] == '_' ? '-' : (char)tolower((unsigned char)name[c]);
		printf("%-17s SOFTGPU_%-17s %s\n", word, name, meaning);
	}
}

int main(void)
{
	print_profiles();
	printf("\n");
	print_fields();
	return ferror(stdout) || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
