/* The order of everything here is that of docs/trace-format.md, section 9.4, "Items". */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "number_column.h"
#include "snapshot_layout.h"
#include "snapshot_rows.h"

/* No more things than so many for each byte that tells of them. */
#define MOST_FOR_A_BYTE 4096

#define MAX_ROWS (UINT32_MAX / 2)

/* On the way out of bytes. */
struct taker {
	struct vs_snapshot_list *list;
	struct vs_wire *in;
	uint64_t *steps; /* rows kept, left out and put in, one column behind the other */
	size_t nr_steps;
	struct vs_snapshot_row *added; /* rows that are put in, in order */
	uint32_t *twins;               /* of each what it is told from; NO_ROW: what is before it */
	uint32_t *befores;             /* and that; NO_ROW: it is the first */
	uint32_t *by_id;               /* which of them, the oldest first */
	size_t nr_added;
	size_t nr_new;     /* rows of the new list */
	uint64_t *numbers; /* room for a column */
};
#define NO_ROW UINT32_MAX

void vs_snapshot_list_fini(struct vs_snapshot_list *list)
{
	free(list->rows);
	free(list->order);
	free(list->last_order);
	*list = (struct vs_snapshot_list){0};
}

static void fail(struct taker *taker)
{
	if (!taker->in->error)
		taker->in->error = -VS_ERR_CORRUPT;
}

static void fail_memory(struct taker *taker)
{
	if (!taker->in->error)
		taker->in->error = -VS_ERR_NO_MEMORY;
}

/* How many follow. */
static size_t get_count(struct taker *taker)
{
	size_t left = vs_wire_left(taker->in);
	uint64_t nr = vs_wire_get_varint(taker->in);

	if (nr / MOST_FOR_A_BYTE > left || nr > MAX_ROWS)
		fail(taker);
	return taker->in->error ? 0 : (size_t)nr;
}

/* False: all are 0, as new rows are. */
static bool get(struct taker *taker, enum vs_number_kind kind, size_t nr)
{
	return vs_number_column_get(taker->in, kind, taker->numbers, nr);
}

/* ---- Which rows ----------------------------------------------------------------------------- */

static void get_steps(struct taker *taker)
{
	size_t nr = taker->nr_steps = get_count(taker), column;

	taker->steps = calloc(3 * nr + 1, sizeof(taker->steps[0]));
	if (!taker->steps) {
		fail_memory(taker);
		return;
	}
	for (column = 0; column < 3; column++)
		vs_number_column_get(taker->in, VS_NUMBERS_PLAIN, taker->steps + column * nr, nr);
}

/* All rows are kept or left out, and none is put in that is not there. */
static void check_steps(struct taker *taker)
{
	const uint64_t *kept = taker->steps, *left_out = kept + taker->nr_steps;
	const uint64_t *put_in = left_out + taker->nr_steps;
	uint64_t room = taker->list->nr, added = taker->nr_added;
	size_t i;

	for (i = 0; i < taker->nr_steps; i++) {
		if (kept[i] > room || left_out[i] > room - kept[i] || put_in[i] > added) {
			fail(taker);
			return;
		}
		room -= kept[i] + left_out[i];
		added -= put_in[i];
	}
	if (room || added || taker->list->nr_rows + taker->nr_added > MAX_ROWS)
		fail(taker);
}

/*
 * Changes tell of about twice as many rows as a whole list has (vs_index_plan.chain): room that is
 * not used costs nothing, to move all rows does. They are filled in by whoever puts them in.
 */
static int make_rows(struct vs_snapshot_list *list, size_t nr)
{
	size_t needed = list->nr_rows + nr + 1, wanted = (list->nr_rows ? 2 : 3) * needed;
	struct vs_snapshot_row *rows = NULL;

	if (needed <= list->rows_capacity)
		return 0;
	if (wanted <= SIZE_MAX / sizeof(*rows))
		rows = realloc(list->rows, wanted * sizeof(*rows));
	if (!rows) {
		wanted = needed;
		rows = reallocarray(list->rows, wanted, sizeof(*rows));
	}
	if (!rows)
		return -VS_ERR_NO_MEMORY;
	list->rows = rows;
	list->rows_capacity = wanted;
	return 0;
}

static int make_room(struct taker *taker)
{
	struct vs_snapshot_list *list = taker->list;
	size_t nr = taker->nr_added;
	int err = make_rows(list, nr);

	if (!err)
		err = VS_GROW(list->last_order, list->last_capacity, list->nr + nr + 1);
	taker->twins = calloc(3 * nr + 1, sizeof(taker->twins[0]));
	taker->numbers = calloc(nr + 1, sizeof(taker->numbers[0]));
	if (err || !taker->twins || !taker->numbers)
		return -VS_ERR_NO_MEMORY;
	taker->befores = taker->twins + nr;
	taker->by_id = taker->befores + nr;
	taker->added = list->rows + list->nr_rows;
	memset(taker->added, 0, nr * sizeof(taker->added[0]));
	return 0;
}

/* The new order, in last_order. Rows that are left out stay as they are: others are told from them.
 */
static void walk_steps(struct taker *taker)
{
	struct vs_snapshot_list *list = taker->list;
	size_t nr = taker->nr_steps, old = 0, new = 0, at = 0, i, k;
	uint32_t *order = list->last_order;

	for (i = 0; i < nr; i++) {
		size_t kept = taker->steps[i], left_out = taker->steps[nr + i];

		if (kept) /* there may be no old order at all */
			memcpy(order + new, list->order + old, kept * sizeof(order[0]));
		new += kept;
		old += kept;
		for (k = 0; k < taker->steps[2 * nr + i]; k++, at++) {
			taker->twins[at] = k < left_out ? list->order[old + k] : NO_ROW;
			taker->befores[at] = new ? order[new - 1] : NO_ROW;
			order[new ++] = (uint32_t)(list->nr_rows + at);
		}
		old += left_out;
	}
	taker->nr_new = new;
}

static void take_order(struct taker *taker)
{
	struct vs_snapshot_list *list = taker->list;
	size_t capacity = list->order_capacity;
	uint32_t *order = list->order;

	list->order = list->last_order;
	list->order_capacity = list->last_capacity;
	list->last_order = order;
	list->last_capacity = capacity;
	list->nr = taker->nr_new;
	list->nr_rows += taker->nr_added;
}

/* ---- What they say -------------------------------------------------------------------------- */

static void set_places(struct taker *taker)
{
	size_t i;

	get(taker, VS_NUMBERS_PLAIN, taker->nr_added);
	for (i = 0; i < taker->nr_added; i++) {
		struct vs_snapshot_row *row = &taker->added[i];

		if (taker->numbers[i] / VS_SNAPSHOT_NR_PARTS > VS_SNAPSHOT_MAX_DEPTH) {
			fail(taker);
			return;
		}
		row->part = taker->numbers[i] % VS_SNAPSHOT_NR_PARTS;
		row->depth = (uint8_t)(taker->numbers[i] / VS_SNAPSHOT_NR_PARTS);
	}
}

static void set_twins(struct taker *taker, size_t nr_twins)
{
	const struct vs_snapshot_row *rows = taker->list->rows;
	size_t at = 0, i;

	get(taker, VS_NUMBERS_SIGNED, nr_twins);
	for (i = 0; i < taker->nr_added; i++)
		if (taker->twins[i] != NO_ROW)
			taker->added[i].base = rows[taker->twins[i]].base + taker->numbers[at++];
	get(taker, VS_NUMBERS_SIGNED, nr_twins);
	at = 0;
	for (i = 0; i < taker->nr_added; i++)
		if (taker->twins[i] != NO_ROW)
			taker->added[i].size = rows[taker->twins[i]].size + taker->numbers[at++];
}

/* Gaps wait until sizes are known: the one before may be new, too. */
static void set_gaps(struct taker *taker, size_t nr_gaps)
{
	const struct vs_snapshot_row *rows = taker->list->rows;
	uint64_t *gaps = calloc(nr_gaps + 1, sizeof(*gaps));
	size_t at = 0, i;

	if (!gaps) {
		fail_memory(taker);
		return;
	}
	vs_number_column_get(taker->in, VS_NUMBERS_SIGNED, gaps, nr_gaps);
	get(taker, VS_NUMBERS_PLAIN, nr_gaps);
	for (i = 0; i < taker->nr_added; i++) {
		struct vs_snapshot_row *row = &taker->added[i];

		if (taker->twins[i] != NO_ROW)
			continue;
		row->size = taker->numbers[at];
		row->base = gaps[at++];
		if (taker->befores[i] != NO_ROW)
			row->base += vs_snapshot_rows_get_end(&rows[taker->befores[i]], row->depth);
	}
	free(gaps);
}

/* A column of a field that has 32 bits or fewer. */
#define SET_FIELD(taker, field, most)                                                      \
	do {                                                                               \
		size_t nr_ = (taker)->nr_added, i_;                                        \
		if (!get(taker, VS_NUMBERS_PLAIN, nr_))                                    \
			break;                                                             \
		for (i_ = 0; i_ < nr_; i_++) {                                             \
			if ((taker)->numbers[i_] > (most))                                 \
				fail(taker);                                               \
			(taker)->added[i_].field =                                         \
				(__typeof__((taker)->added[0].field))(taker)->numbers[i_]; \
		}                                                                          \
	} while (0)

/* A column that says by how much a field is more than in the row before. */
#define SET_GROWTH(taker, field, from)                                     \
	do {                                                               \
		uint64_t value_ = (from);                                  \
		size_t nr_ = (taker)->nr_added, i_;                        \
		if (!get(taker, VS_NUMBERS_SIGNED, nr_) && !value_)        \
			break;                                             \
		for (i_ = 0; i_ < nr_; i_++) {                             \
			value_ += (taker)->numbers[i_];                    \
			(taker)->added[(taker)->by_id[i_]].field = value_; \
		}                                                          \
	} while (0)

static void set_ranks(struct taker *taker)
{
	uint64_t rank = UINT64_MAX;
	size_t i;

	get(taker, VS_NUMBERS_SIGNED, taker->nr_added);
	for (i = 0; i < taker->nr_added; i++)
		taker->by_id[i] = NO_ROW;
	for (i = 0; i < taker->nr_added; i++) {
		rank += taker->numbers[i] + 1;
		if (rank >= taker->nr_added || taker->by_id[rank] != NO_ROW) {
			fail(taker);
			return;
		}
		taker->by_id[rank] = (uint32_t)i;
	}
}

static void set_accounts(struct taker *taker, uint64_t last_id)
{
	uint64_t is_steady = vs_wire_get_varint(taker->in), account = 0;
	size_t i;

	if (is_steady > 1)
		fail(taker);
	get(taker, VS_NUMBERS_SIGNED, taker->nr_added);
	for (i = 0; i < taker->nr_added; i++) {
		struct vs_snapshot_row *row = &taker->added[taker->by_id[i]];

		account += taker->numbers[i] + (is_steady ? row->id - last_id : 0);
		last_id = row->id;
		if (account > UINT32_MAX)
			fail(taker);
		row->account = (uint32_t)account;
	}
}

static void set_slack(struct taker *taker)
{
	size_t i;

	if (!get(taker, VS_NUMBERS_PLAIN, taker->nr_added))
		return;
	for (i = 0; i < taker->nr_added; i++)
		taker->added[taker->by_id[i]].slack_size = taker->numbers[i];
}

static size_t count_twins(const struct taker *taker)
{
	size_t nr = 0, i;

	for (i = 0; i < taker->nr_added; i++)
		nr += taker->twins[i] != NO_ROW;
	return nr;
}

static void set_rows(struct taker *taker, const struct vs_snapshot_origin *origin)
{
	size_t nr_twins = count_twins(taker);

	set_places(taker);
	set_twins(taker, nr_twins);
	set_gaps(taker, taker->nr_added - nr_twins);
	SET_FIELD(taker, shape, UINT16_MAX);
	SET_FIELD(taker, pool, UINT32_MAX);
	SET_FIELD(taker, owner, UINT32_MAX);
	SET_FIELD(taker, api, UINT32_MAX);
	SET_FIELD(taker, context, UINT32_MAX);
	set_ranks(taker);
	if (taker->in->error)
		return;
	SET_GROWTH(taker, id, origin->last_id);
	SET_GROWTH(taker, birth_ns, origin->now_ns);
	SET_GROWTH(taker, birth_step, origin->nr_steps);
	set_accounts(taker, origin->last_id);
	set_slack(taker);
	SET_GROWTH(taker, run, 0);
}

void vs_snapshot_list_change(struct vs_snapshot_list *list, struct vs_wire *in,
			     const struct vs_snapshot_origin *origin)
{
	struct taker taker = {.list = list, .in = in};

	get_steps(&taker);
	taker.nr_added = get_count(&taker);
	if (!in->error)
		check_steps(&taker);
	if (!in->error && make_room(&taker))
		fail_memory(&taker);
	if (!in->error) {
		walk_steps(&taker);
		set_rows(&taker, origin);
		take_order(&taker);
	}
	free(taker.steps);
	free(taker.twins);
	free(taker.numbers);
}
