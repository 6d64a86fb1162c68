#include "page_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

#define PART_CHANGES 262144u

void vs_page_columns_init(struct vs_page_columns *columns, FILE *file, uint32_t trace)
{
	memset(columns, 0, sizeof(*columns));
	columns->file = file;
	columns->trace = trace;
}

void vs_page_columns_fini(struct vs_page_columns *columns)
{
	for (int i = 0; i < VS_PAGE_NR_COLUMNS; i++)
		vs_pack_fini(&columns->columns[i]);
	free(columns->addresses);
	free(columns->sizes);
	memset(columns, 0, sizeof(*columns));
}

/* ---- Text ----------------------------------------------------------------------------------- */

static void put_base64(FILE *file, const uint8_t *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4096];
	size_t used = 0;

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t bits = (uint32_t)bytes[i] << 16 |
				(left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				(left > 2 ? bytes[i + 2] : 0);

		text[used++] = digits[bits >> 18];
		text[used++] = digits[bits >> 12 & 63];
		text[used++] = left > 1 ? digits[bits >> 6 & 63] : '=';
		text[used++] = left > 2 ? digits[bits & 63] : '=';
		if (used == sizeof(text)) {
			fwrite(text, 1, used, file);
			used = 0;
		}
	}
	if (used)
		fwrite(text, 1, used, file);
}

int vs_page_columns_put_part(FILE *file, uint32_t trace, const char *kind, const void *bytes,
			     size_t size)
{
	struct vs_pack packed = {0};
	size_t packed_size;
	int err = vs_pack_deflate(&packed, bytes, size, &packed_size);

	if (err) {
		vs_pack_fini(&packed);
		return err;
	}
	fprintf(file,
		"<script type=\"text/plain\" class=\"part\" data-trace=\"%" PRIu32
		"\" data-kind=\"%s\">",
		trace, kind);
	put_base64(file, packed.bytes, packed_size);
	fputs("</script>\n", file);
	vs_pack_fini(&packed);
	return ferror(file) ? -VS_ERR_IO : 0;
}

/* ---- A part --------------------------------------------------------------------------------- */

/* How many lowest bits none of the numbers has; 0 if all are 0. */
static unsigned int find_shift(const uint64_t *numbers, size_t nr, uint64_t mask)
{
	uint64_t all = 0;

	for (size_t i = 0; i < nr; i++)
		all |= numbers[i] & mask;
	return all ? (unsigned int)__builtin_ctzll(all) : 0;
}

static void pack_addresses(struct vs_page_columns *columns, unsigned int shift)
{
	uint64_t before = columns->last_address;

	for (uint32_t i = 0; i < columns->nr_births; i++) {
		uint64_t address = columns->addresses[i];
		int64_t high = (int64_t)(address >> 32) - (int64_t)(before >> 32);
		int64_t low = (int64_t)((address & UINT32_MAX) >> shift) -
			      (int64_t)((before & UINT32_MAX) >> shift);

		vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_HIGH],
				   vs_page_columns_fold(high));
		vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_LOW],
				   vs_page_columns_fold(low));
		before = address;
	}
	columns->last_address = before;
}

static int pack_part(struct vs_page_columns *columns, struct vs_pack *part)
{
	unsigned int low = find_shift(columns->addresses, columns->nr_births, UINT32_MAX);
	unsigned int size = find_shift(columns->sizes, columns->nr_births, UINT64_MAX);

	/* The first difference is to the part before, which must lose nothing either. */
	if (columns->nr_births && (columns->last_address & UINT32_MAX))
		while (low && (columns->last_address & UINT32_MAX & ((UINT64_C(1) << low) - 1)))
			low--;
	pack_addresses(columns, low);
	for (uint32_t i = 0; i < columns->nr_births; i++)
		vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_SIZES],
				   columns->sizes[i] >> size);
	vs_pack_put_varint(part, columns->nr_in_part);
	vs_pack_put_varint(part, columns->nr_births);
	vs_pack_put_varint(part, low);
	vs_pack_put_varint(part, size);
	for (int i = 0; i < VS_PAGE_NR_COLUMNS; i++) {
		struct vs_pack *column = &columns->columns[i];

		if (column->error)
			return column->error;
		vs_pack_put_varint(part, column->size);
		if (column->size)
			vs_pack_put_bytes(part, column->bytes, column->size);
		column->size = 0;
	}
	return part->error;
}

static int write_part(struct vs_page_columns *columns)
{
	struct vs_pack part = {0};
	int err = pack_part(columns, &part);

	if (!err)
		err = vs_page_columns_put_part(columns->file, columns->trace, "changes", part.bytes,
					       part.size);
	vs_pack_fini(&part);
	columns->nr_in_part = 0;
	columns->nr_births = 0;
	return err;
}

int vs_page_columns_finish(struct vs_page_columns *columns)
{
	return columns->nr_in_part ? write_part(columns) : 0;
}

/* ---- A change ------------------------------------------------------------------------------- */

static int begin_change(struct vs_page_columns *columns, enum vs_page_change type, uint64_t time_ns)
{
	int err = columns->nr_in_part == PART_CHANGES ? write_part(columns) : 0;

	if (err)
		return err;
	/* Times of a damaged trace may go back. */
	if (time_ns < columns->last_ns)
		time_ns = columns->last_ns;
	vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_TYPES], type);
	vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_TIMES], time_ns - columns->last_ns);
	columns->last_ns = time_ns;
	columns->nr_in_part++;
	columns->nr_changes++;
	return 0;
}

int vs_page_columns_add_birth(struct vs_page_columns *columns, uint64_t time_ns,
			      const struct vs_page_birth *birth, uint64_t *number)
{
	const uint32_t numbers[] = {birth->flags, birth->kind,  birth->device, birth->site,
				    birth->pool,  birth->owner, birth->api,    birth->phase};
	int err = begin_change(columns, VS_PAGE_BORN, time_ns);

	if (!err)
		err = VS_GROW(columns->addresses, columns->addresses_capacity,
			      (size_t)columns->nr_births + 1);
	if (!err)
		err = VS_GROW(columns->sizes, columns->sizes_capacity,
			      (size_t)columns->nr_births + 1);
	if (err)
		return err;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_FLAGS + i], numbers[i]);
	columns->addresses[columns->nr_births] = birth->address;
	columns->sizes[columns->nr_births++] = birth->size;
	*number = columns->nr_items++;
	return 0;
}

int vs_page_columns_add_item(struct vs_page_columns *columns, enum vs_page_change type,
			     uint64_t time_ns, uint64_t number)
{
	int err = begin_change(columns, type, time_ns);

	vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_ITEMS], columns->nr_items - number);
	return err;
}

int vs_page_columns_add(struct vs_page_columns *columns, enum vs_page_change type, uint64_t time_ns,
			const uint64_t *fields, size_t nr_fields)
{
	int err = begin_change(columns, type, time_ns);

	for (size_t i = 0; i < nr_fields; i++)
		vs_pack_put_varint(&columns->columns[VS_PAGE_COLUMN_ARGUMENTS], fields[i]);
	return err;
}
