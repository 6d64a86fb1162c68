#include "same_analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pack.h"
#include "same_replay.h"
#include "totals.h"

#define SAME(member) assert_int_equal(a->member, b->member)

/* Peaks, counts, failures and the worst fragmentation, as the index has them. */
static void check_totals(const struct vs_analysis *one, const struct vs_analysis *other)
{
	struct vs_pack a = {0}, b = {0};

	vs_totals_put(&a, one);
	vs_totals_put(&b, other);
	assert_int_equal(a.error, 0);
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.bytes, b.bytes, a.size);
	vs_pack_fini(&a);
	vs_pack_fini(&b);
}

static void check_sites(const struct vs_site_totals *a, const struct vs_site_totals *b)
{
	SAME(nr_allocs);
	SAME(bytes_allocated);
	SAME(peak_bytes);
	SAME(min_size);
	SAME(max_size);
	SAME(first_ns);
	SAME(last_ns);
}

static void check_peaks(struct vs_peak_account one, struct vs_peak_account other)
{
	assert_int_equal(one.bytes, other.bytes);
	assert_int_equal(one.count, other.count);
}

static void check_retained(const struct vs_analysis *one, const struct vs_analysis *other, size_t i)
{
	uint64_t a[VS_RETAINED_MAX], b[VS_RETAINED_MAX];

	for (int is_old = 0; is_old < 2; is_old++) {
		vs_measure_retained_get_values(&one->retained, one->replay->accounts[i], is_old, a);
		vs_measure_retained_get_values(&other->retained, other->replay->accounts[i], is_old,
					       b);
		assert_memory_equal(a, b, one->retained.nr_boundaries * sizeof(a[0]));
	}
}

void assert_same_analysis(const struct vs_analysis *one, const struct vs_analysis *other)
{
	size_t i;

	assert_same_replay(one->replay, other->replay);
	assert_int_equal(one->duration_ns, other->duration_ns);
	check_totals(one, other);
	assert_int_equal(one->retained.unit, other->retained.unit);
	assert_int_equal(one->retained.nr_boundaries, other->retained.nr_boundaries);
	for (i = 0; i < one->replay->nr_accounts; i++) {
		const struct vs_account *a = one->replay->accounts[i];
		const struct vs_account *b = other->replay->accounts[i];

		check_sites(vs_measure_sites_get(&one->sites, a),
			    vs_measure_sites_get(&other->sites, b));
		check_peaks(vs_measure_peak_get_account(&one->peak, a),
			    vs_measure_peak_get_account(&other->peak, b));
		check_retained(one, other, i);
	}
}
