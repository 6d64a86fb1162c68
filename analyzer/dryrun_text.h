#ifndef VS_DRYRUN_TEXT_H
#define VS_DRYRUN_TEXT_H

#include "dryrun.h"

/* A dry run for people. */
void vs_dryrun_text_put(const struct vs_dryrun *dryrun, const struct vs_text_style *style);

#endif
