#include "shapes.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_build_id(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const char *note = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const char *end = note + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_NOTE)
			continue;
		while (note + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *header = (const void *)note;
			const char *name = note + sizeof(*header);
			const unsigned char *id =
				(const void *)(name + ((header->n_namesz + 3u) & ~3u));

			if (header->n_type == 3 && memcmp(name, "GNU", 4) == 0) {
				for (uint32_t k = 0; k < header->n_descsz; k++)
					printf("%02x", id[k]);
				return;
			}
			note = (const char *)id + ((header->n_descsz + 3u) & ~3u);
		}
	}
	printf("-");
}

static int print_module(struct dl_phdr_info *info, size_t size, void *data)
{
	char self[4096];
	const char *path = info->dlpi_name;
	uintptr_t start = UINTPTR_MAX;
	uintptr_t end = 0;
	ssize_t length;

	(void)size;
	(void)data;
	if (!*path) {
		length = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[length > 0 ? length : 0] = 0;
		path = self;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t high = low + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		start = low < start ? low : start;
		end = high > end ? high : end;
	}
	printf("module %s %lx %lx %lx ", path, (long)start, (long)end, (long)info->dlpi_addr);
	print_build_id(info);
	printf("\n");
	return 0;
}

void print_modules(void)
{
	dl_iterate_phdr(print_module, NULL);
}

void probe(const char *expected)
{
	printf("pc %lx %s\n", (long)__builtin_return_address(0), expected);
}

void probe_exit(const char *expected)
{
	printf("pc %lx %s\n", (long)__builtin_return_address(0), expected);
	exit(0);
}
