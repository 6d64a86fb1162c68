/*
 * Writes the list that is installed beside the stand-ins as profiles.txt: what `softgpu-run --list`
 * prints, and what the launchers check their arguments by. Two tables with a head each and an empty
 * line between them; the first word of a row is the name of a profile, or of a field. The third of
 * a field is what it takes: text, number:LEAST-MOST, size:LEAST-MOST or word:A|B|...
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void format_values(char text[64], const struct sg_profile_field *field)
{
	static const char *const kinds[] = {
		[SG_PROFILE_FIELD_TEXT] = "text",
		[SG_PROFILE_FIELD_NUMBER] = "number",
		[SG_PROFILE_FIELD_SIZE] = "size",
		[SG_PROFILE_FIELD_WORD] = "word",
	};
	const char *kind = kinds[field->kind];

	if (field->kind == SG_PROFILE_FIELD_TEXT)
		snprintf(text, 64, "%s", kind);
	else if (field->kind == SG_PROFILE_FIELD_WORD)
		snprintf(text, 64, "%s:%s", kind, field->words);
	else
		snprintf(text, 64, "%s:%llu-%llu", kind, (unsigned long long)field->least,
			 (unsigned long long)field->most);
	for (char *blank = text; (blank = strchr(blank, ' '));)
		*blank = '|';
}

static void print_fields(void)
{
	const struct sg_profile_field *field;

	printf("%-17s %-25s %-31s %s\n", "field", "variable", "values", "meaning");
	for (size_t i = 0; (field = sg_profile_field_get(i)); i++) {
		char word[18] = "", values[64];

		for (size_t c = 0; field->name[c] && c + 1 < sizeof(word); c++)
			word[c] = field->name[c] == '_'
					  ? '-'
					  : (char)tolower((unsigned char)field->name[c]);
		format_values(values, field);
		printf("%-17s SOFTGPU_%-17s %-31s %s\n", word, field->name, values, field->meaning);
	}
}

int main(void)
{
	print_profiles();
	printf("\n");
	print_fields();
	return ferror(stdout) || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
