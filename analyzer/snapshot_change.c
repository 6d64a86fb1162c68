/* The order of everything here is that of docs/trace-format.md, section 9.4, "Items". */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "number_column.h"
#include "snapshot_layout.h"
#include "snapshot_rows.h"

/* So many rows are kept, so many left out, so many put in. */
struct step {
	size_t kept;
	size_t left_out;
	size_t put_in;
};

/* ---- What is different ---------------------------------------------------------------------- */

/* On the way into bytes. */
struct comparison {
	struct vs_pack *out;
	const struct vs_snapshot_rows *from;
	const struct vs_snapshot_rows *to;
	struct step *steps;
	size_t nr_steps;
	size_t steps_capacity;
	const struct vs_snapshot_row **added; /* those that are put in, in order */
	const struct vs_snapshot_row *
		*twins; /* of each what it is told from; NULL: what is before */
	const struct vs_snapshot_row **by_id; /* those that are put in, the oldest first */
	size_t *ranks;                        /* of each of `added`: where it is in by_id */
	size_t nr_added;
	size_t added_capacity;
	size_t twins_capacity;
	uint64_t *numbers; /* room for a column */
};

static bool is_same(const struct vs_snapshot_row *a, const struct vs_snapshot_row *b)
{
	return a->id == b->id && !memcmp(a, b, sizeof(*a));
}

/* Where a row would be expected. Nothing but the number of bytes depends on it. */
static bool is_before(const struct vs_snapshot_row *a, const struct vs_snapshot_row *b)
{
	if (a->part != b->part)
		return a->part < b->part;
	return a->base != b->base ? a->base < b->base : a->depth < b->depth;
}

static int add_row(struct comparison *comparison, const struct vs_snapshot_row *row,
		   const struct vs_snapshot_row *twin)
{
	int err = VS_GROW(comparison->added, comparison->added_capacity, comparison->nr_added + 1);

	if (!err)
		err = VS_GROW(comparison->twins, comparison->twins_capacity,
			      comparison->nr_added + 1);
	if (err)
		return err;
	comparison->added[comparison->nr_added] = row;
	comparison->twins[comparison->nr_added++] = twin;
	return 0;
}

/* Whether the next rows of both lists are the same. */
static bool is_kept(const struct comparison *comparison, size_t i, size_t j)
{
	const struct vs_snapshot_rows *from = comparison->from, *to = comparison->to;

	return i < from->nr && j < to->nr && is_same(&from->rows[i], &to->rows[j]);
}

/* From rows that are not, to where they are the same again, or to the ends. */
static void pass_over(const struct comparison *comparison, size_t *i, size_t *j)
{
	const struct vs_snapshot_rows *from = comparison->from, *to = comparison->to;

	while (*i < from->nr && *j < to->nr && !is_kept(comparison, *i, *j)) {
		const struct vs_snapshot_row *old = &from->rows[*i], *new = &to->rows[*j];
		bool is_old = !is_before(new, old), is_new = !is_before(old, new);

		*i += is_old;
		*j += is_new;
	}
	/* One of them has ended: all that is left of the other. */
	if (*i == from->nr || *j == to->nr) {
		*i = from->nr;
		*j = to->nr;
	}
}

/* One step: up to where the lists are the same again. */
static int compare_step(struct comparison *comparison, size_t *i, size_t *j)
{
	const struct vs_snapshot_rows *from = comparison->from, *to = comparison->to;
	size_t start = *i, first, next, k;
	int err = VS_GROW(comparison->steps, comparison->steps_capacity, comparison->nr_steps + 1);

	while (is_kept(comparison, *i, *j)) {
		++*i;
		++*j;
	}
	first = *i;
	next = *j;
	pass_over(comparison, i, j);
	for (k = 0; k < *j - next && !err; k++)
		err = add_row(comparison, &to->rows[next + k],
			      k < *i - first ? &from->rows[first + k] : NULL);
	if (!err)
		comparison->steps[comparison->nr_steps++] =
			(struct step){first - start, *i - first, *j - next};
	return err;
}

/* ---- The order of births -------------------------------------------------------------------- */

#define DIGIT_BITS 11
#define NR_DIGITS  (1u << DIGIT_BITS)

struct birth {
	uint64_t id;  /* from the first one on */
	size_t place; /* in `added` */
};

static uint32_t get_digit(const struct birth *birth, unsigned int shift)
{
	return birth->id >> shift & (NR_DIGITS - 1);
}

/* By one digit; those that have the same stay in their order. */
static void sort_digit(struct birth *to, const struct birth *from, size_t nr, unsigned int shift)
{
	size_t starts[NR_DIGITS] = {0}, sum = 0, count, i;

	for (i = 0; i < nr; i++)
		starts[get_digit(&from[i], shift)]++;
	for (i = 0; i < NR_DIGITS; i++) {
		count = starts[i];
		starts[i] = sum;
		sum += count;
	}
	for (i = 0; i < nr; i++)
		to[starts[get_digit(&from[i], shift)]++] = from[i];
}

/* In the order of births. Of those that have the same number all have the rank of the last. */
static void set_ranks(struct comparison *comparison, const struct birth *sorted)
{
	size_t rank = comparison->nr_added, i;

	for (i = comparison->nr_added; i-- > 0;) {
		if (i + 1 == comparison->nr_added || sorted[i].id != sorted[i + 1].id)
			rank = i;
		comparison->by_id[i] = comparison->added[sorted[i].place];
		comparison->ranks[sorted[i].place] = rank;
	}
}

/* Digit by digit: numbers of births since the last snapshot are close together. */
static int sort_by_id(struct comparison *comparison)
{
	size_t nr = comparison->nr_added, i;
	struct birth *births = malloc((2 * nr + 1) * sizeof(*births)), *sorted, *others;
	uint64_t first = UINT64_MAX, last = 0;
	unsigned int shift;

	if (!births)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < nr; i++)
		first = comparison->added[i]->id < first ? comparison->added[i]->id : first;
	for (i = 0; i < nr; i++) {
		births[i] = (struct birth){comparison->added[i]->id - first, i};
		last = births[i].id > last ? births[i].id : last;
	}
	sorted = births;
	others = births + nr;
	for (shift = 0; shift < 64 && last >> shift; shift += DIGIT_BITS) {
		sort_digit(others, sorted, nr, shift);
		sorted = others;
		others = sorted == births ? births + nr : births;
	}
	set_ranks(comparison, sorted);
	free(births);
	return 0;
}

static int compare(struct comparison *comparison)
{
	size_t i = 0, j = 0, most;
	int err = 0;

	while ((i < comparison->from->nr || j < comparison->to->nr) && !err)
		err = compare_step(comparison, &i, &j);
	if (err)
		return err;
	most = comparison->nr_added > comparison->nr_steps ? comparison->nr_added
							   : comparison->nr_steps;
	comparison->numbers = calloc(most + 1, sizeof(comparison->numbers[0]));
	comparison->by_id = calloc(comparison->nr_added + 1, sizeof(comparison->by_id[0]));
	comparison->ranks = calloc(comparison->nr_added + 1, sizeof(comparison->ranks[0]));
	if (!comparison->numbers || !comparison->by_id || !comparison->ranks)
		return -VS_ERR_NO_MEMORY;
	return sort_by_id(comparison);
}

/* ---- Into bytes ----------------------------------------------------------------------------- */

static void put(struct comparison *comparison, enum vs_number_kind kind, size_t nr)
{
	vs_number_column_put(comparison->out, kind, comparison->numbers, nr);
}

/* A column of a field of rows. */
#define PUT_FIELD(comparison, rows, field)                             \
	do {                                                           \
		size_t i_;                                             \
		for (i_ = 0; i_ < (comparison)->nr_added; i_++)        \
			(comparison)->numbers[i_] = (rows)[i_]->field; \
		put(comparison, VS_NUMBERS_PLAIN, i_);                 \
	} while (0)

/* The same by how much it is more than in the row before. */
#define PUT_GROWTH(comparison, rows, field, from)                              \
	do {                                                                   \
		uint64_t last_ = (from);                                       \
		size_t i_;                                                     \
		for (i_ = 0; i_ < (comparison)->nr_added; i_++) {              \
			(comparison)->numbers[i_] = (rows)[i_]->field - last_; \
			last_ = (rows)[i_]->field;                             \
		}                                                              \
		put(comparison, VS_NUMBERS_SIGNED, i_);                        \
	} while (0)

static void put_steps(struct comparison *comparison)
{
	size_t nr = comparison->nr_steps, i;

	vs_pack_put_varint(comparison->out, nr);
	for (i = 0; i < nr; i++)
		comparison->numbers[i] = comparison->steps[i].kept;
	put(comparison, VS_NUMBERS_PLAIN, nr);
	for (i = 0; i < nr; i++)
		comparison->numbers[i] = comparison->steps[i].left_out;
	put(comparison, VS_NUMBERS_PLAIN, nr);
	for (i = 0; i < nr; i++)
		comparison->numbers[i] = comparison->steps[i].put_in;
	put(comparison, VS_NUMBERS_PLAIN, nr);
}

/* What takes the place of something else is mostly where that was, and as large. */
static void put_twins(struct comparison *comparison)
{
	size_t nr = 0, i;

	for (i = 0; i < comparison->nr_added; i++)
		if (comparison->twins[i])
			comparison->numbers[nr++] =
				comparison->added[i]->base - comparison->twins[i]->base;
	put(comparison, VS_NUMBERS_SIGNED, nr);
	nr = 0;
	for (i = 0; i < comparison->nr_added; i++)
		if (comparison->twins[i])
			comparison->numbers[nr++] =
				comparison->added[i]->size - comparison->twins[i]->size;
	put(comparison, VS_NUMBERS_SIGNED, nr);
}

static void put_gaps(struct comparison *comparison)
{
	const struct vs_snapshot_row *first = comparison->to->rows;
	size_t nr = 0, i;

	for (i = 0; i < comparison->nr_added; i++) {
		const struct vs_snapshot_row *row = comparison->added[i];

		if (!comparison->twins[i])
			comparison->numbers[nr++] =
				row->base -
				(row == first ? 0 : vs_snapshot_rows_get_end(row - 1, row->depth));
	}
	put(comparison, VS_NUMBERS_SIGNED, nr);
	nr = 0;
	for (i = 0; i < comparison->nr_added; i++)
		if (!comparison->twins[i])
			comparison->numbers[nr++] = comparison->added[i]->size;
	put(comparison, VS_NUMBERS_PLAIN, nr);
}

static void put_ranks(struct comparison *comparison)
{
	uint64_t last = UINT64_MAX;
	size_t i;

	for (i = 0; i < comparison->nr_added; i++) {
		comparison->numbers[i] = comparison->ranks[i] - last - 1;
		last = comparison->ranks[i];
	}
	put(comparison, VS_NUMBERS_SIGNED, i);
}

/* is_steady: accounts are expected to go on as the numbers of items do. */
static void put_accounts(struct comparison *comparison, struct vs_pack *out, bool is_steady,
			 uint64_t last_id)
{
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < comparison->nr_added; i++) {
		const struct vs_snapshot_row *row = comparison->by_id[i];

		comparison->numbers[i] = row->account - last - (is_steady ? row->id - last_id : 0);
		last = row->account;
		last_id = row->id;
	}
	vs_pack_put_varint(out, is_steady);
	vs_number_column_put(out, VS_NUMBERS_SIGNED, comparison->numbers, i);
}

/* Steps of a program ask for memory at the same sites in the same order; or they do not. */
static void put_best_accounts(struct comparison *comparison, uint64_t last_id)
{
	struct vs_pack one = {0}, other = {0};
	const struct vs_pack *best = &one;

	put_accounts(comparison, &one, false, last_id);
	put_accounts(comparison, &other, true, last_id);
	if (other.size < one.size)
		best = &other;
	if (!comparison->out->error)
		comparison->out->error = one.error ? one.error : other.error;
	vs_pack_put_bytes(comparison->out, best->bytes, best->size);
	vs_pack_fini(&one);
	vs_pack_fini(&other);
}

static void put_added(struct comparison *comparison, const struct vs_snapshot_origin *origin)
{
	size_t i;

	for (i = 0; i < comparison->nr_added; i++)
		comparison->numbers[i] =
			comparison->added[i]->part +
			(uint64_t)VS_SNAPSHOT_NR_PARTS * comparison->added[i]->depth;
	put(comparison, VS_NUMBERS_PLAIN, i);
	put_twins(comparison);
	put_gaps(comparison);
	PUT_FIELD(comparison, comparison->added, shape);
	PUT_FIELD(comparison, comparison->added, pool);
	PUT_FIELD(comparison, comparison->added, owner);
	PUT_FIELD(comparison, comparison->added, api);
	PUT_FIELD(comparison, comparison->added, context);
	put_ranks(comparison);
	PUT_GROWTH(comparison, comparison->by_id, id, origin->last_id);
	PUT_GROWTH(comparison, comparison->by_id, birth_ns, origin->now_ns);
	PUT_GROWTH(comparison, comparison->by_id, birth_step, origin->nr_steps);
	put_best_accounts(comparison, origin->last_id);
	PUT_FIELD(comparison, comparison->by_id, slack_size);
	PUT_GROWTH(comparison, comparison->by_id, run, 0);
}

size_t vs_snapshot_change_put(struct vs_pack *pack, const struct vs_snapshot_rows *from,
			      const struct vs_snapshot_rows *to,
			      const struct vs_snapshot_origin *origin)
{
	struct comparison comparison = {.out = pack, .from = from, .to = to};
	int err = compare(&comparison);

	if (err && !pack->error)
		pack->error = err;
	if (!pack->error) {
		put_steps(&comparison);
		vs_pack_put_varint(pack, comparison.nr_added);
		put_added(&comparison, origin);
	}
	free(comparison.steps);
	free(comparison.added);
	free(comparison.twins);
	free(comparison.by_id);
	free(comparison.ranks);
	free(comparison.numbers);
	return comparison.nr_added;
}
