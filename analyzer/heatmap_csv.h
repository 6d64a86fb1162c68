#ifndef VS_HEATMAP_CSV_H
#define VS_HEATMAP_CSV_H

#include <stdio.h>

#include "error.h"
#include "heatmap.h"

/*
 * The cells of a finished heatmap, one a line, by time and then by address; cells in which nothing
 * was held are left out. Shares have six digits. -VS_ERR_IO (see errno).
 */
VS_MUST_CHECK int vs_heatmap_csv_write(const struct vs_heatmap *heatmap, const char *path);
VS_MUST_CHECK int vs_heatmap_csv_put(const struct vs_heatmap *heatmap, FILE *file);

#endif
