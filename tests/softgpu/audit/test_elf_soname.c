/*
 * sg_elf_soname_read against files made here, byte by byte, and against a real library with
 * hundreds of thousands of random injuries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_soname.h"

#define NR_PHDRS   4
#define NR_DYNS    8
#define LOAD_VADDR 0x10000
#define SONAME_AT  1 /* in the string table, as linkers do it */
#define SONAME     "libcublas.so.13"
#define MUTATIONS  200000

/*
 * A complete little library. Tests change one thing and say what must come of it. The string
 * table comes last, so that no cut leaves the soname whole.
 */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr phdrs[NR_PHDRS]; /* LOAD, DYNAMIC, and two unused ones */
	Elf64_Dyn dyns[NR_DYNS];
	char strings[SONAME_AT + sizeof(SONAME)];
};

static uint64_t vaddr_of(size_t offset)
{
	return LOAD_VADDR + offset;
}

static struct image make_image(void)
{
	struct image image = {
		.header =
			{
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_phoff = offsetof(struct image, phdrs),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = NR_PHDRS,
			},
		.phdrs =
			{
				{
					.p_type = PT_LOAD,
					.p_vaddr = LOAD_VADDR,
					.p_filesz = sizeof(struct image),
				},
				{
					.p_type = PT_DYNAMIC,
					.p_vaddr = vaddr_of(offsetof(struct image, dyns)),
					.p_filesz = sizeof(((struct image *)0)->dyns),
				},
			},
		.dyns =
			{
				{.d_tag = DT_NEEDED, .d_un.d_val = SONAME_AT},
				{.d_tag = DT_SONAME, .d_un.d_val = SONAME_AT},
				{.d_tag = DT_STRTAB,
				 .d_un.d_ptr = vaddr_of(offsetof(struct image, strings))},
			},
	};

	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(image.strings + SONAME_AT, SONAME, sizeof(SONAME));
	return image;
}

static int make_file(const void *bytes, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	return fd;
}

/* What reading these bytes gives; the buffer is of the exact size, so that ASan sees an overrun. */
static int read_bytes(const void *bytes, size_t size, char **soname)
{
	int fd = make_file(bytes, size);
	char *buffer = malloc(NAME_MAX + 1);
	int err;

	assert_non_null(buffer);
	strcpy(buffer, "untouched");
	err = sg_elf_soname_read(fd, buffer, NAME_MAX + 1);
	close(fd);
	if (soname)
		*soname = buffer;
	else
		free(buffer);
	return err;
}

static int read_image(const struct image *image)
{
	return read_bytes(image, sizeof(*image), NULL);
}

static void test_soname_is_found(void **state)
{
	struct image image = make_image();
	char *soname;

	(void)state;
	assert_int_equal(read_bytes(&image, sizeof(image), &soname), 0);
	assert_string_equal(soname, SONAME);
	free(soname);
}

static void test_soname_of_a_real_library_is_found(void **state)
{
	char soname[NAME_MAX + 1];
	FILE *file = fopen(REAL_LIBRARY, "rb");

	(void)state;
	assert_non_null(file);
	assert_int_equal(sg_elf_soname_read(fileno(file), soname, sizeof(soname)), 0);
	assert_string_equal(soname, SONAME);
	fclose(file);
}

static void test_file_position_stays(void **state)
{
	struct image image = make_image();
	int fd = make_file(&image, sizeof(image));
	char soname[NAME_MAX + 1];

	(void)state;
	assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
	assert_int_equal(sg_elf_soname_read(fd, soname, sizeof(soname)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
	close(fd);
}

static void test_no_cut_file_has_a_soname(void **state)
{
	struct image image = make_image();

	(void)state;
	for (size_t size = 0; size < offsetof(struct image, strings) + SONAME_AT + sizeof(SONAME);
	     size++) {
		char *soname;
		int err = read_bytes(&image, size, &soname);

		assert_int_equal(err, size < sizeof(Elf64_Ehdr) ? -ENOEXEC : -EINVAL);
		assert_string_equal(soname, "untouched");
		free(soname);
	}
}

static void test_other_files_are_not_elf(void **state)
{
	static const char script[] =
		"#!/bin/sh\n# GROUP ( libcublas.so.13 ) padded to the size of a header\n";
	struct image image = make_image();

	(void)state;
	assert_int_equal(read_bytes("", 0, NULL), -ENOEXEC);
	assert_int_equal(read_bytes(script, sizeof(script), NULL), -ENOEXEC);
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_image(&image), -ENOEXEC);
	image = make_image();
	image.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(read_image(&image), -ENOEXEC);
}

static void test_bad_descriptor_is_not_elf(void **state)
{
	char soname[NAME_MAX + 1];
	int ends[2];

	(void)state;
	assert_int_equal(sg_elf_soname_read(-1, soname, sizeof(soname)), -ENOEXEC);
	assert_int_equal(pipe(ends), 0); /* has no offsets */
	assert_int_equal(sg_elf_soname_read(ends[0], soname, sizeof(soname)), -ENOEXEC);
	close(ends[0]);
	close(ends[1]);
}

static void test_library_without_dynamic_section_has_no_soname(void **state)
{
	struct image image = make_image();

	(void)state;
	image.phdrs[1].p_type = PT_NOTE;
	assert_int_equal(read_image(&image), -ENOENT);
	image.header.e_phnum = 0;
	assert_int_equal(read_image(&image), -ENOENT);
}

static void test_library_without_soname_entry_has_no_soname(void **state)
{
	struct image image = make_image();

	(void)state;
	image.dyns[1].d_tag = DT_RUNPATH;
	assert_int_equal(read_image(&image), -ENOENT);
}

static void test_entries_behind_the_end_mark_do_not_count(void **state)
{
	struct image image = make_image();

	(void)state;
	image.dyns[0].d_tag = DT_NULL;
	assert_int_equal(read_image(&image), -ENOENT);
}

static void test_dynamic_section_may_lack_its_end_mark(void **state)
{
	struct image image = make_image();

	(void)state;
	for (int i = 3; i < NR_DYNS; i++)
		image.dyns[i].d_tag = DT_DEBUG;
	assert_int_equal(read_image(&image), 0);
}

static void test_missing_string_table_is_damage(void **state)
{
	struct image image = make_image();

	(void)state;
	image.dyns[2].d_tag = DT_DEBUG;
	assert_int_equal(read_image(&image), -EINVAL);
}

static void test_program_headers_outside_the_file_are_damage(void **state)
{
	static const uint64_t offsets[] = {sizeof(struct image), INT64_MAX, UINT64_MAX - 8,
					   (uint64_t)INT64_MAX + 1};
	struct image image = make_image();

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		image.header.e_phoff = offsets[i];
		assert_int_equal(read_image(&image), -EINVAL);
	}
	image = make_image();
	image.header.e_phnum = UINT16_MAX;
	assert_int_equal(read_image(&image), -EINVAL);
	image = make_image();
	image.header.e_phentsize = 32;
	assert_int_equal(read_image(&image), -EINVAL);
}

static void test_segments_outside_the_file_are_damage(void **state)
{
	static const uint64_t offsets[] = {sizeof(struct image), INT64_MAX, UINT64_MAX,
					   (uint64_t)INT64_MAX + 1};
	struct image image = make_image();

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		image.phdrs[0].p_offset = offsets[i];
		assert_int_equal(read_image(&image), -EINVAL);
	}
	image = make_image();
	image.phdrs[1].p_vaddr = 16; /* in no segment */
	assert_int_equal(read_image(&image), -EINVAL);
}

static void test_soname_outside_its_segment_is_damage(void **state)
{
	static const uint64_t places[] = {sizeof(struct image), INT64_MAX, UINT64_MAX,
					  UINT64_MAX - LOAD_VADDR};
	struct image image = make_image();

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		image = make_image();
		image.dyns[1].d_un.d_val = places[i];
		assert_int_equal(read_image(&image), -EINVAL);
		image = make_image();
		image.dyns[2].d_un.d_ptr = places[i];
		assert_int_equal(read_image(&image), -EINVAL);
	}
}

static void test_soname_without_end_is_damage(void **state)
{
	struct image image = make_image();
	size_t end = offsetof(struct image, strings) + SONAME_AT + strlen(SONAME);

	(void)state;
	image.phdrs[0].p_filesz = end;
	assert_int_equal(read_bytes(&image, end, NULL), -EINVAL);
}

static void test_soname_longer_than_a_file_name_is_refused(void **state)
{
	struct {
		struct image image;
		char more[NAME_MAX + 1];
	} file = {.image = make_image()};

	(void)state;
	file.image.phdrs[0].p_filesz = sizeof(file);
	memset(file.image.strings + SONAME_AT, 'x', sizeof(file.image.strings) - SONAME_AT);
	memset(file.more, 'x', sizeof(file.more));
	/* Whatever padding lies between the two is part of the name, too. */
	for (size_t i = offsetof(struct image, strings) + sizeof(file.image.strings);
	     i < sizeof(struct image); i++)
		((char *)&file)[i] = 'x';
	assert_int_equal(read_bytes(&file, sizeof(file), NULL), -ENAMETOOLONG);
}

static void test_small_buffer_is_never_overrun(void **state)
{
	struct image image = make_image();
	int fd = make_file(&image, sizeof(image));

	(void)state;
	for (size_t size = 0; size <= sizeof(SONAME); size++) {
		char *buffer = malloc(size ? size : 1);
		int err = sg_elf_soname_read(fd, buffer, size);

		assert_int_equal(err, size < sizeof(SONAME) ? -ENAMETOOLONG : 0);
		free(buffer);
	}
	close(fd);
}

static void test_later_of_overlapping_segments_counts(void **state)
{
	struct {
		struct image image;
		char strings[SONAME_AT + sizeof("libother.so")];
	} file = {.image = make_image(), .strings = "\0libother.so"};
	char *soname;

	(void)state;
	file.image.phdrs[2] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_vaddr = vaddr_of(offsetof(struct image, strings)),
		.p_offset = offsetof(__typeof__(file), strings),
		.p_filesz = sizeof(file.strings),
	};
	assert_int_equal(read_bytes(&file, sizeof(file), &soname), 0);
	assert_string_equal(soname, "libother.so");
	free(soname);
}

static void test_last_dynamic_section_counts(void **state)
{
	struct image image = make_image();

	(void)state;
	image.phdrs[3] = image.phdrs[1];
	image.phdrs[1].p_vaddr = 16; /* would be damage */
	assert_int_equal(read_image(&image), 0);
}

static void test_program_headers_may_be_many(void **state)
{
	enum {
		NR_MORE = 1000
	};
	struct image image = make_image();
	size_t size = sizeof(image) + NR_MORE * sizeof(Elf64_Phdr);
	char *bytes = calloc(1, size);

	(void)state;
	assert_non_null(bytes);
	/* The two that matter come last, behind a thousand empty ones. */
	image.header.e_phoff = sizeof(image);
	image.header.e_phnum = NR_MORE;
	memcpy(bytes, &image, sizeof(image));
	memcpy(bytes + size - 2 * sizeof(Elf64_Phdr), image.phdrs, 2 * sizeof(Elf64_Phdr));
	assert_int_equal(read_bytes(bytes, size, NULL), 0);
	free(bytes);
}

static void test_tables_may_lie_far_behind_in_a_huge_file(void **state)
{
	const off_t far = (off_t)1 << 40;
	struct image image = make_image();
	char soname[NAME_MAX + 1];
	int fd;

	(void)state;
	image.phdrs[0].p_offset = (uint64_t)far;
	fd = make_file(&image, sizeof(image));
	assert_int_equal(pwrite(fd, &image, sizeof(image), far), sizeof(image));
	assert_int_equal(sg_elf_soname_read(fd, soname, sizeof(soname)), 0);
	assert_string_equal(soname, SONAME);
	close(fd);
}

static void test_endless_dynamic_section_ends(void **state)
{
	const off_t size = (off_t)1 << 40;
	struct image image = make_image();
	char soname[NAME_MAX + 1];
	int fd;

	(void)state;
	image.phdrs[0].p_filesz = (uint64_t)size;
	image.phdrs[1].p_filesz = (uint64_t)size;
	for (int i = 0; i < NR_DYNS; i++)
		image.dyns[i].d_tag = DT_DEBUG;
	memset(image.strings, 1, sizeof(image.strings));
	fd = make_file(&image, sizeof(image));
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(sg_elf_soname_read(fd, soname, sizeof(soname)), -ENOENT);
	close(fd);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static char *read_whole_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	char *bytes;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	*size = (size_t)status.st_size;
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

/* Where the bytes are that the reader looks at; an injury elsewhere proves little. */
struct target {
	size_t at;
	size_t size;
};

static size_t find_targets(const char *bytes, struct target targets[3])
{
	Elf64_Ehdr header;

	memcpy(&header, bytes, sizeof(header));
	targets[0] = (struct target){0, sizeof(header)};
	targets[1] = (struct target){header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)};
	for (int i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr phdr;

		memcpy(&phdr, bytes + header.e_phoff + (size_t)i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_DYNAMIC)
			targets[2] = (struct target){phdr.p_offset, phdr.p_filesz};
	}
	return 3;
}

static bool is_known_answer(int err)
{
	return err == 0 || err == -ENOEXEC || err == -EINVAL || err == -ENOENT ||
	       err == -ENAMETOOLONG;
}

static void injure(int fd, char *bytes, const struct target *target, uint64_t *seed)
{
	static const char telling[] = {0, 1, 2, 14, 0x40, 0x7f, (char)0x80, (char)0xff};
	uint64_t nr_injuries = 1 + next_random(seed) % 8;

	for (uint64_t i = 0; i < nr_injuries; i++) {
		size_t at = target->at + next_random(seed) % target->size;
		uint64_t choice = next_random(seed);

		bytes[at] = choice & 256 ? (char)choice : telling[choice % sizeof(telling)];
		assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
	}
}

static void test_no_injury_of_a_real_library_does_harm(void **state)
{
	uint64_t seed = 0x5eed5eed5eed5eed;
	unsigned int nr_answers[2] = {0};
	struct target targets[3];
	size_t size, nr_targets;
	char *whole = read_whole_file(REAL_LIBRARY, &size);
	char *injured = malloc(size);
	char *soname = malloc(64); /* exact size: ASan watches its end */
	int fd = make_file(whole, size);

	(void)state;
	assert_non_null(injured);
	assert_non_null(soname);
	memcpy(injured, whole, size);
	nr_targets = find_targets(whole, targets);
	for (int i = 0; i < MUTATIONS; i++) {
		const struct target *target = &targets[next_random(&seed) % nr_targets];
		bool is_cut = next_random(&seed) % 16 == 0;
		int err;

		injure(fd, injured, target, &seed);
		if (is_cut)
			assert_int_equal(ftruncate(fd, (off_t)(next_random(&seed) % size)), 0);
		err = sg_elf_soname_read(fd, soname, 64);
		assert_true(is_known_answer(err));
		if (err == 0)
			assert_true(strnlen(soname, 64) < 64);
		nr_answers[err == 0]++;
		if (is_cut)
			assert_int_equal(pwrite(fd, whole, size, 0), size);
		else
			assert_int_equal(
				pwrite(fd, whole + target->at, target->size, (off_t)target->at),
				target->size);
		memcpy(injured + target->at, whole + target->at, target->size);
	}
	/* Neither all dead nor all unharmed: the injuries went where it matters. */
	assert_true(nr_answers[0] > MUTATIONS / 20);
	assert_true(nr_answers[1] > MUTATIONS / 20);
	close(fd);
	free(soname);
	free(injured);
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_soname_is_found),
		cmocka_unit_test(test_soname_of_a_real_library_is_found),
		cmocka_unit_test(test_file_position_stays),
		cmocka_unit_test(test_no_cut_file_has_a_soname),
		cmocka_unit_test(test_other_files_are_not_elf),
		cmocka_unit_test(test_bad_descriptor_is_not_elf),
		cmocka_unit_test(test_library_without_dynamic_section_has_no_soname),
		cmocka_unit_test(test_library_without_soname_entry_has_no_soname),
		cmocka_unit_test(test_entries_behind_the_end_mark_do_not_count),
		cmocka_unit_test(test_dynamic_section_may_lack_its_end_mark),
		cmocka_unit_test(test_missing_string_table_is_damage),
		cmocka_unit_test(test_program_headers_outside_the_file_are_damage),
		cmocka_unit_test(test_segments_outside_the_file_are_damage),
		cmocka_unit_test(test_soname_outside_its_segment_is_damage),
		cmocka_unit_test(test_soname_without_end_is_damage),
		cmocka_unit_test(test_soname_longer_than_a_file_name_is_refused),
		cmocka_unit_test(test_small_buffer_is_never_overrun),
		cmocka_unit_test(test_later_of_overlapping_segments_counts),
		cmocka_unit_test(test_last_dynamic_section_counts),
		cmocka_unit_test(test_program_headers_may_be_many),
		cmocka_unit_test(test_tables_may_lie_far_behind_in_a_huge_file),
		cmocka_unit_test(test_endless_dynamic_section_ends),
		cmocka_unit_test(test_no_injury_of_a_real_library_does_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
