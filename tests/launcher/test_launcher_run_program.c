#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_program.h"
#include "scratch.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#else
#define OUR_MACHINE EM_AARCH64
#endif

#define NOBODY 65534

static char path[PATH_MAX];
static char seen[PATH_MAX];
static const char *reason;

/* ---- Finding -------------------------------------------------------------------------------- */

static int find(const char *name)
{
	path[0] = '\0';
	reason = "";
	return vs_run_program_find(path, name, &reason);
}

/* A file that cannot be executed. */
static void write_plain(const char *name)
{
	vs_scratch_write_text(name, "text");
	assert_int_equal(chmod(name, 0644), 0);
}

static void test_a_name_with_a_slash_is_that_file(void **state)
{
	(void)state;
	vs_scratch_write_text("tool", "");
	assert_int_equal(find("./tool"), 0);
	assert_string_equal(path, "./tool");
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(find("./tool"), 0);
}

static void test_statuses_are_those_of_shells(void **state)
{
	(void)state;
	write_plain("plain");
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(symlink("nothing", "dangling"), 0);

	assert_int_equal(find("./nothing"), VS_RUN_NOT_FOUND);
	assert_string_equal(reason, strerror(ENOENT));
	assert_int_equal(find("./plain"), VS_RUN_NOT_EXECUTABLE);
	assert_string_equal(reason, "is not executable");
	assert_int_equal(find("./folder"), VS_RUN_NOT_EXECUTABLE);
	assert_string_equal(reason, "is a folder");
	assert_int_equal(find("./folder/"), VS_RUN_NOT_EXECUTABLE);
	assert_int_equal(find("./plain/tool"), VS_RUN_NOT_FOUND);
	assert_string_equal(reason, strerror(ENOTDIR));
	assert_int_equal(find("./loop"), VS_RUN_NOT_FOUND);
	assert_string_equal(reason, strerror(ELOOP));
	assert_int_equal(find("./dangling"), VS_RUN_NOT_FOUND);
	assert_int_equal(find(""), VS_RUN_NOT_FOUND);
	assert_string_equal(reason, "command not found");
}

static void test_names_too_long_are_not_found(void **state)
{
	char name[2 * PATH_MAX];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(find(name), VS_RUN_NOT_FOUND);
	name[0] = '/';
	assert_int_equal(find(name), VS_RUN_NOT_FOUND);
	assert_string_equal(reason, strerror(ENAMETOOLONG));
}

static void test_the_first_in_the_path_that_can_be_executed_is_it(void **state)
{
	(void)state;
	assert_int_equal(mkdir("a", 0700), 0);
	assert_int_equal(mkdir("b", 0700), 0);
	assert_int_equal(mkdir("c", 0700), 0);
	assert_int_equal(mkdir("a/tool", 0700), 0);
	write_plain("b/tool");
	setenv("PATH", "missing:a:b:c", 1);
	assert_int_equal(find("tool"), VS_RUN_NOT_EXECUTABLE);
	assert_string_equal(reason, "is a folder");
	setenv("PATH", "b:a", 1);
	assert_int_equal(find("tool"), VS_RUN_NOT_EXECUTABLE);
	assert_string_equal(reason, "is not executable");
	vs_scratch_write_text("c/tool", "");
	setenv("PATH", "missing:a:b:c", 1);
	assert_int_equal(find("tool"), 0);
	assert_string_equal(path, "c/tool");
	assert_int_equal(find("other"), VS_RUN_NOT_FOUND);
	assert_string_equal(reason, "command not found");
}

static void test_an_empty_part_of_the_path_is_the_current_folder(void **state)
{
	static const char *const values[] = {"", ":/nowhere", "/nowhere:", "/nowhere::/nowhere"};

	(void)state;
	vs_scratch_write_text("tool", "");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		setenv("PATH", values[i], 1);
		assert_int_equal(find("tool"), 0);
		assert_string_equal(path, "./tool");
	}
}

static void test_without_a_path_it_is_that_of_execvp(void **state)
{
	(void)state;
	unsetenv("PATH");
	assert_int_equal(find("sh"), 0);
	assert_string_equal(path, "/bin/sh");
}

/* ---- Looking at ----------------------------------------------------------------------------- */

/* A program of one segment (PT_NULL: none that matters), with the flags of a dynamic one. */
struct elf {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Dyn dynamic[3];
};

static struct elf make_elf(uint32_t type, uint64_t flags_1)
{
	struct elf elf = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = OUR_MACHINE,
			   .e_version = EV_CURRENT,
			   .e_phoff = offsetof(struct elf, segments),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2},
		.segments = {{.p_type = PT_LOAD},
			     {.p_type = type,
			      .p_offset = offsetof(struct elf, dynamic),
			      .p_filesz = sizeof(elf.dynamic)}},
		.dynamic = {{.d_tag = DT_DEBUG},
			    {.d_tag = DT_FLAGS_1, .d_un.d_val = flags_1},
			    {.d_tag = DT_NULL}},
	};

	return elf;
}

static enum vs_run_program_sight inspect(const struct elf *elf)
{
	vs_scratch_write("program", elf, sizeof(*elf));
	return vs_run_program_inspect("program", seen);
}

static void test_a_program_with_an_interpreter_is_clear(void **state)
{
	struct elf elf = make_elf(PT_INTERP, 0);

	(void)state;
	assert_int_equal(inspect(&elf), VS_SIGHT_CLEAR);
	assert_string_equal(seen, "program");
}

static void test_a_program_without_is_static(void **state)
{
	struct elf elf = make_elf(PT_NULL, 0);

	(void)state;
	assert_int_equal(inspect(&elf), VS_SIGHT_STATIC);
	elf = make_elf(PT_DYNAMIC, DF_1_NOW | DF_1_PIE); /* -static-pie */
	assert_int_equal(inspect(&elf), VS_SIGHT_STATIC);
}

static void test_the_dynamic_linker_itself_preloads(void **state)
{
	struct elf elf = make_elf(PT_DYNAMIC, DF_1_NOW);

	(void)state;
	assert_int_equal(inspect(&elf), VS_SIGHT_CLEAR);
	elf.dynamic[1].d_tag = DT_NULL;
	assert_int_equal(inspect(&elf), VS_SIGHT_CLEAR);
#ifdef __x86_64__
	assert_int_equal(vs_run_program_inspect("/lib64/ld-linux-x86-64.so.2", seen),
			 VS_SIGHT_CLEAR);
#endif
}

static void test_other_machines_and_32_bits_are_foreign(void **state)
{
	struct elf elf = make_elf(PT_INTERP, 0);

	(void)state;
	elf.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(inspect(&elf), VS_SIGHT_FOREIGN);
	elf.header.e_machine = EM_386;
	assert_int_equal(inspect(&elf), VS_SIGHT_FOREIGN);
	elf.header.e_ident[EI_CLASS] = ELFCLASS64;
	elf.header.e_machine = EM_PPC64;
	assert_int_equal(inspect(&elf), VS_SIGHT_FOREIGN);
}

static void test_half_a_program_is_somebody_elses_problem(void **state)
{
	struct elf elf = make_elf(PT_NULL, 0);

	(void)state;
	for (size_t size = 0; size < offsetof(struct elf, dynamic); size += 8) {
		vs_scratch_write("program", &elf, size);
		assert_int_equal(vs_run_program_inspect("program", seen), VS_SIGHT_CLEAR);
	}
	elf.header.e_phoff = UINT64_MAX - 8;
	assert_int_equal(inspect(&elf), VS_SIGHT_CLEAR);
}

static void test_a_script_is_what_its_interpreter_is(void **state)
{
	struct elf elf = make_elf(PT_NULL, 0);

	(void)state;
	inspect(&elf);
	vs_scratch_write_text("script", "#! \t./program -e\necho\n");
	assert_int_equal(vs_run_program_inspect("script", seen), VS_SIGHT_STATIC);
	assert_string_equal(seen, "./program");
	vs_scratch_write_text("script", "#!program");
	assert_int_equal(vs_run_program_inspect("script", seen), VS_SIGHT_STATIC);
	vs_scratch_write_text("second", "#!script\n");
	assert_int_equal(vs_run_program_inspect("second", seen), VS_SIGHT_STATIC);
	assert_string_equal(seen, "program");
}

static void test_other_scripts_are_clear(void **state)
{
	static const char *const texts[] = {
		"",
		"#",
		"#!",
		"#!\n",
		"#!   \n",
		"#!/no/such/interpreter\n",
		"#!script\n", /* itself */
		"echo without a line for the kernel\n",
		"#!/bin/sh\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		vs_scratch_write_text("script", texts[i]);
		assert_int_equal(vs_run_program_inspect("script", seen), VS_SIGHT_CLEAR);
	}
	assert_int_equal(vs_run_program_inspect("missing", seen), VS_SIGHT_CLEAR);
	assert_int_equal(vs_run_program_inspect("/bin/sh", seen), VS_SIGHT_CLEAR);
}

/* ---- Rights --------------------------------------------------------------------------------- */

/* Whether programs can be given rights here, and by us. */
static void need_rights(void)
{
	struct statvfs system;

	if (getuid() != 0 || statvfs(".", &system) < 0 || (system.f_flag & ST_NOSUID) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		print_message("a program with foreign rights cannot be made here\n");
		skip();
	}
}

static enum vs_run_program_sight inspect_mode(uid_t uid, gid_t gid, mode_t mode)
{
	assert_int_equal(chown("program", uid, gid), 0);
	assert_int_equal(chmod("program", mode), 0);
	return vs_run_program_inspect("program", seen);
}

static void test_a_program_with_rights_of_its_own_is_privileged(void **state)
{
	struct elf elf = make_elf(PT_INTERP, 0);

	(void)state;
	need_rights();
	inspect(&elf);
	assert_int_equal(inspect_mode(NOBODY, getgid(), 04755), VS_SIGHT_PRIVILEGED);
	assert_int_equal(inspect_mode(getuid(), NOBODY, 02755), VS_SIGHT_PRIVILEGED);
	vs_scratch_write_text("script", "#!./program\n");
	assert_int_equal(vs_run_program_inspect("script", seen), VS_SIGHT_PRIVILEGED);
	assert_string_equal(seen, "./program");
}

static void test_bits_that_give_nothing_do_not_matter(void **state)
{
	struct elf elf = make_elf(PT_INTERP, 0);

	(void)state;
	inspect(&elf);
	assert_int_equal(inspect_mode(getuid(), getgid(), 06755), VS_SIGHT_CLEAR);
	/* Without the group's x it is a mark for locking. */
	need_rights();
	assert_int_equal(inspect_mode(getuid(), NOBODY, 02745), VS_SIGHT_CLEAR);
	/* Linux ignores the bits of a script. */
	vs_scratch_write_text("program", "#!/bin/sh\n");
	assert_int_equal(inspect_mode(NOBODY, NOBODY, 06755), VS_SIGHT_CLEAR);
}

static void test_where_no_rights_can_be_gained_the_bits_mean_nothing(void **state)
{
	struct elf elf = make_elf(PT_INTERP, 0);
	pid_t child;
	int status;

	(void)state;
	need_rights();
	inspect(&elf);
	assert_int_equal(inspect_mode(NOBODY, getgid(), 04755), VS_SIGHT_PRIVILEGED);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(vs_run_program_inspect("program", seen) == VS_SIGHT_CLEAR ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- What else a file may be ---------------------------------------------------------------- */

static void test_a_program_is_told_from_a_script(void **state)
{
	struct elf elf = make_elf(PT_NULL, 0);

	(void)state;
	inspect(&elf);
	assert_true(vs_run_program_is_elf("program"));
	vs_scratch_write("program", &elf, 3);
	assert_false(vs_run_program_is_elf("program"));
	vs_scratch_write_text("program", "#!/bin/sh");
	assert_false(vs_run_program_is_elf("program"));
	assert_false(vs_run_program_is_elf("missing"));
	assert_false(vs_run_program_is_elf("."));
}

static void test_thread_sanitizer_is_seen_in_programs_only(void **state)
{
	static const char linked[] = "\x7f"
				     "ELF...\0libtsan.so.2\0";
	static const char carried[] = "\x7f"
				      "ELF...\0__tsan_init";
	static const char neither[] = "\x7f"
				      "ELF...\0libasan.so.8\0";

	(void)state;
	vs_scratch_write("program", linked, sizeof(linked));
	assert_true(vs_run_program_is_tsan("program"));
	vs_scratch_write("program", carried, sizeof(carried) - 1);
	assert_true(vs_run_program_is_tsan("program"));
	vs_scratch_write("program", neither, sizeof(neither));
	assert_false(vs_run_program_is_tsan("program"));
	vs_scratch_write_text("program", "#!/bin/sh\n# libtsan.so __tsan_init\n");
	assert_false(vs_run_program_is_tsan("program"));
	vs_scratch_write_text("program", "");
	assert_false(vs_run_program_is_tsan("program"));
	assert_false(vs_run_program_is_tsan("missing"));
	assert_false(vs_run_program_is_tsan("."));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vs_scratch_enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_a_name_with_a_slash_is_that_file),
		TEST(test_statuses_are_those_of_shells),
		TEST(test_names_too_long_are_not_found),
		TEST(test_the_first_in_the_path_that_can_be_executed_is_it),
		TEST(test_an_empty_part_of_the_path_is_the_current_folder),
		TEST(test_without_a_path_it_is_that_of_execvp),
		TEST(test_a_program_with_an_interpreter_is_clear),
		TEST(test_a_program_without_is_static),
		TEST(test_the_dynamic_linker_itself_preloads),
		TEST(test_other_machines_and_32_bits_are_foreign),
		TEST(test_half_a_program_is_somebody_elses_problem),
		TEST(test_a_script_is_what_its_interpreter_is),
		TEST(test_other_scripts_are_clear),
		TEST(test_a_program_with_rights_of_its_own_is_privileged),
		TEST(test_bits_that_give_nothing_do_not_matter),
		TEST(test_where_no_rights_can_be_gained_the_bits_mean_nothing),
		TEST(test_a_program_is_told_from_a_script),
		TEST(test_thread_sanitizer_is_seen_in_programs_only),
	};

	return cmocka_run_group_tests_name("run_program", tests, NULL, NULL);
}
