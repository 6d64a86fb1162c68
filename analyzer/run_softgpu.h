#ifndef VS_RUN_SOFTGPU_H
#define VS_RUN_SOFTGPU_H

#include "error.h"
#include "run_card.h"

/*
 * Puts the simulated GPU in front of the command, by the environment: what softgpu-run does
 * (samples/softgpu/softgpu-run, docs/softgpu.md). tests/cli/test_run_softgpu.sh compares the two.
 *
 * libdir: vramscope's own folder of libraries; SOFTGPU_LIBDIR goes before it. card: as the user
 * wrote it (run_card.h), or "". program: the file that will be started. Changes our own
 * environment. Returns 0, or an exit status after one line on stderr.
 */
VS_MUST_CHECK int vs_run_softgpu_set_up(const struct vs_run_asker *asker, const char *libdir,
					const char *card, const char *program);

/* The cards there are, on stdout, as softgpu-run --list prints them. Returns an exit status. */
int vs_run_softgpu_list(const char *libdir);

#endif
