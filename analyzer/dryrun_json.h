#ifndef VS_DRYRUN_JSON_H
#define VS_DRYRUN_JSON_H

#include "dryrun.h"

/* A dry run as JSON: docs/json.md. */

/* Members of the object of a device of a trace. */
VS_MUST_CHECK int vs_dryrun_json_put_device(struct vs_story *story,
					    const struct vs_replay_device *device);

/* Members of the outermost object, behind `traces`. */
void vs_dryrun_json_put(const struct vs_dryrun *dryrun, struct vs_json *json);

#endif
