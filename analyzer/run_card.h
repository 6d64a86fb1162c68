#ifndef VS_RUN_CARD_H
#define VS_RUN_CARD_H

#include <stdbool.h>

#include "command.h"
#include "error.h"

/*
 * Which card the simulated GPU describes: what the user wrote behind --softgpu= or --gpu as
 * variables of our own environment. softgpu-run does the same with -m and -p.
 *
 *   SIZE                           memory of each device: 8G, 512M, 1.5G, bytes
 *   NAME[xN][,FIELD=VALUE...]      a profile, N devices of it, and what is to differ
 *
 * Names, fields and what they take are in profiles.txt beside the stand-ins. Functions return 0, or
 * an exit status after one line on stderr.
 */

/* Who asked, for messages: `vramscope: run: --softgpu: ...`. */
struct vs_run_asker {
	const struct vs_command *command;
	const char *option; /* without the dashes */
};

/* A size begins with a digit, and no name of a profile does. */
bool vs_run_card_is_size(const char *text);
VS_MUST_CHECK int vs_run_card_set_memory(const struct vs_run_asker *asker, const char *text);

/* folder: of the stand-ins. */
VS_MUST_CHECK int vs_run_card_set_profile(const struct vs_run_asker *asker, const char *folder,
					  const char *text);

#endif
