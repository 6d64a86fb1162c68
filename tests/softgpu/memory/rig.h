#ifndef SG_RIG_H
#define SG_RIG_H

/*
 * What the tests of the driver's memory have in common. cmocka.h wants these before it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* What a GPU takes its memory in, and what small requests are rounded to. */
#define PAGE (2 * MIB)
#define UNIT ((size_t)512)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SG_RIG_IS_SANITIZED 1
#else
#define SG_RIG_IS_SANITIZED 0
#endif

#define assert_result(call, expected) assert_int_equal((int)(call), (int)(expected))
#define assert_ok(call)               assert_result(call, CUDA_SUCCESS)
#define assert_invalid(call)          assert_result(call, CUDA_ERROR_INVALID_VALUE)

/*
 * Forget what the environment says about softgpu and CUDA, and set these "NAME=value" strings, the
 * last one followed by NULL, instead. Before anything of the driver is used.
 */
void sg_rig_set_environment(const char *const variables[]);
#define SG_RIG_SET_ENVIRONMENT(...) sg_rig_set_environment((const char *const[]){__VA_ARGS__})

/* cuInit, and a context on device 0. */
CUcontext sg_rig_open(void);

/* Free memory of the current context's device. */
size_t sg_rig_get_free(void);

/* Random numbers, the same ones for the same seed. */
uint64_t sg_rig_draw(uint64_t *seed);
uint64_t sg_rig_draw_below(uint64_t *seed, uint64_t limit);

/* Bytes of host memory behind all memory files whose name begins like that. */
size_t sg_rig_get_file_size(const char *name);

/*
 * Scenes are played in a process of their own: this program, started again with the environment
 * set as above. sg_rig_run plays one and fails the test if it fails. main() calls sg_rig_play
 * first; it returns -1 in the process that is to run the tests.
 */
struct sg_rig_scene {
	const char *name;
	CMUnitTestFunction play;
};

void sg_rig_run(const char *scene, const char *const variables[]);
#define SG_RIG_RUN(scene, ...) sg_rig_run(scene, (const char *const[]){__VA_ARGS__})

int sg_rig_play(int argc, char **argv, const struct sg_rig_scene *scenes, size_t nr_scenes);

#define SG_RIG_PLAY(argc, argv, scenes) \
	sg_rig_play(argc, argv, scenes, sizeof(scenes) / sizeof((scenes)[0]))

#endif
