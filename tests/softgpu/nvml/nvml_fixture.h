#ifndef SG_NVML_FIXTURE_H
#define SG_NVML_FIXTURE_H

#include <sys/types.h>

/* All versions of all functions, also those that newer headers advise against. */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#include "config.h"

/* The card of the tests: its own, of this size, found by SOFTGPU_CARD. */
#define SG_NVML_FIXTURE_DEVICES 3
#define SG_NVML_FIXTURE_MEMORY  (1024 * SG_MIB)

/* First thing in main(), unless it plays a part. */
void sg_nvml_fixture_set_environment(void);

/* For tests that want the library initialised. */
int sg_nvml_fixture_init(void **state);
int sg_nvml_fixture_fini(void **state);
#define SG_NVML_FIXTURE_TEST(test) \
	cmocka_unit_test_setup_teardown(test, sg_nvml_fixture_init, sg_nvml_fixture_fini)

nvmlDevice_t sg_nvml_fixture_get_device(unsigned int index);

/* This program again with two arguments, and what it writes to that descriptor in *from. */
pid_t sg_nvml_fixture_start_part(const char *part, const char *argument, int fd_to_read, int *from);

/*
 * Another process that holds bytes of device 1 until it is killed: main() with the arguments "hold"
 * and the size calls the first, the second returns when it holds them.
 */
int sg_nvml_fixture_hold(const char *size);
pid_t sg_nvml_fixture_start_holder(const char *size);

/* SIGKILL; it is dead, but a zombie, until waited for. */
void sg_nvml_fixture_kill(pid_t pid);

/* Exit code, or -1 for a violent end. */
int sg_nvml_fixture_wait(pid_t pid);

#endif
