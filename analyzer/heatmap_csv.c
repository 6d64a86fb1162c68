#include "heatmap_csv.h"

#include <errno.h>
#include <inttypes.h>

#include "interrupt.h"

static uint64_t get_time(const struct vs_heatmap *heatmap, size_t column)
{
	uint64_t ns = (uint64_t)column * heatmap->column_ticks << heatmap->tick_shift;
	uint64_t window = heatmap->to_ns - heatmap->from_ns;

	return heatmap->from_ns + (ns < window ? ns : window);
}

/* Quoted as RFC 4180 wants it; what would break a line is left out. */
static void put_name(FILE *file, const char *name)
{
	fputs(",\"", file);
	for (; *name; name++) {
		if (*name == '"')
			fputc('"', file);
		if ((unsigned char)*name >= ' ')
			fputc(*name, file);
	}
	fputc('"', file);
}

static void put_cell(const struct vs_heatmap *heatmap, size_t column, size_t row, FILE *file)
{
	size_t cell = row * heatmap->nr_columns + column;
	double area = (double)vs_heatmap_get_area(heatmap, column, row);
	uint64_t low = (uint64_t)row * heatmap->row_bytes;
	uint64_t high = low + heatmap->row_bytes;

	if (!heatmap->held[cell] && !heatmap->live[cell])
		return;
	if (high > heatmap->total_bytes)
		high = heatmap->total_bytes;
	fprintf(file, "%" PRIu64 ",%" PRIu64 ",0x%" PRIx64 ",0x%" PRIx64 ",%.6f,%.6f",
		get_time(heatmap, column), get_time(heatmap, column + 1),
		vs_heatmap_unfold(heatmap, low), vs_heatmap_unfold(heatmap, high - 1) + 1,
		(double)heatmap->held[cell] / area, (double)heatmap->live[cell] / area);
	for (size_t i = 0; i < heatmap->nr_groups; i++)
		fprintf(file, ",%.6f", (double)heatmap->groups[i][cell] / area);
	fputc('\n', file);
}

int vs_heatmap_csv_put(const struct vs_heatmap *heatmap, FILE *file)
{
	fputs("start_ns,end_ns,first_address,end_address,held,live", file);
	for (size_t i = 0; i < heatmap->nr_groups; i++)
		put_name(file, heatmap->group_names[i]);
	fputc('\n', file);
	for (size_t column = 0; column < heatmap->nr_columns; column++)
		for (size_t row = 0; row < heatmap->nr_rows; row++)
			put_cell(heatmap, column, row, file);
	return ferror(file) ? -VS_ERR_IO : 0;
}

int vs_heatmap_csv_write(const struct vs_heatmap *heatmap, const char *path)
{
	FILE *file = fopen(path, "we");
	bool is_closed;
	int err;
	int saved;

	if (!file)
		return -VS_ERR_IO;
	vs_interrupt_guard_file(path);
	err = vs_heatmap_csv_put(heatmap, file);
	saved = errno;
	is_closed = fclose(file) == 0;
	vs_interrupt_release_file();
	if (!is_closed && !err)
		return -VS_ERR_IO;
	errno = saved;
	return err;
}
