#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "request_cuts.h"

/* Places of the latest requests, by the lower bits of their keys. A place has room for the others.
 */
#define LATEST_BITS 16
#define NR_LATEST   (1u << LATEST_BITS)
#define NUMBER_BITS (64 - (32 - LATEST_BITS))

/* Requests whose votes are counted in one go; the first ones that lags are chosen from. */
#define NR_AT_ONCE 16

/*
 * From so many requests on, a part of them tells as much as all: before the next doubling, when
 * lags are chosen, the last quarter votes; and one group in four is compared.
 */
#define MANY_REQUESTS VS_STEPS_RING

/* What nobody marked is never certain: of programs made by chance, one in a hundred is misread. */
#define MOST_SURE 0.99

/* At least so many requests have to be as they were a step before. */
#define LEAST_EQUAL 0.6

/* A shorter lag that is nearly as good is the step, the longer one several. */
#define NEARLY 0.02

/* A mark may come a part of the repetition earlier or later. */
#define MARK_DRIFT 8

/* Sizes make requests distinct, so that shorter repetitions are not taken for steps; sites alone
 * are for programs whose sizes vary. */
#define SIZED_BONUS 0.1

static struct vs_steps_finder *finder_of(struct vs_observer *observer)
{
	return (struct vs_steps_finder *)(void *)observer; /* its first member */
}

/* ---- Requests ------------------------------------------------------------------------------- */

static uint32_t hash(uint64_t site, uint64_t size)
{
	uint64_t x = site * UINT64_C(0x9e3779b97f4a7c15) ^ (size + UINT64_C(0x7f4a7c15));

	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 29;
	return (uint32_t)x | 1; /* 0 is no request */
}

/* Mostly it has been charged before. */
static inline uint32_t get_site(const struct vs_replay *replay, uint32_t stack)
{
	const struct vs_account *account = vs_replay_get_noted(replay, stack);

	return account ? account->site->index
		       : vs_definitions_get_site(&replay->definitions, stack)->index;
}

/* Whether it is a request; for how much, and from which site. */
static inline bool read_request(const struct vs_replay *replay, const struct vs_record *record,
				bool has_blocks, uint32_t *site, uint64_t *size)
{
	if (record->type == VS_RECORD_BLOCK_ALLOC) {
		*size = record->block_alloc.size;
		*site = get_site(replay, record->block_alloc.stack);
		return true;
	}
	if (record->type != VS_RECORD_ALLOC || has_blocks ||
	    vs_replay_get_domain(record->alloc.kind) != VS_DOMAIN_DEVICE)
		return false;
	*size = record->alloc.size;
	*site = get_site(replay, record->alloc.stack);
	return true;
}

bool vs_steps_read(const struct vs_replay *replay, const struct vs_record *record, bool has_blocks,
		   bool is_sized, uint32_t *key)
{
	uint64_t size;
	uint32_t site;

	if (!read_request(replay, record, has_blocks, &site, &size))
		return false;
	*key = hash(site, is_sized ? size : 0);
	return true;
}

/* ---- Lags ----------------------------------------------------------------------------------- */

static int init_sequence(struct vs_steps_sequence *sequence)
{
	sequence->keys = malloc((VS_STEPS_RING + VS_STEPS_GROUP) * sizeof(*sequence->keys));
	sequence->votes = calloc(VS_STEPS_LONGEST + 1, sizeof(*sequence->votes));
	sequence->latest = calloc(NR_LATEST, sizeof(*sequence->latest));
#ifdef __x86_64__
	sequence->is_wide = __builtin_cpu_supports("avx2");
#endif
	return sequence->keys && sequence->votes && sequence->latest ? 0 : -VS_ERR_NO_MEMORY;
}

static void fini_sequence(struct vs_steps_sequence *sequence)
{
	free(sequence->keys);
	free(sequence->votes);
	free(sequence->latest);
}

/*
 * The lags that explain most: votes x lag. A request that comes once in a step votes for its
 * length, one that comes often for less; what comes now and then has few votes.
 */
static void choose_lags(struct vs_steps_sequence *sequence, uint64_t nr_requests)
{
	uint64_t most = nr_requests / VS_STEPS_LEAST, weights[VS_STEPS_LAGS] = {0}, weight;
	uint32_t lag, limit;
	size_t i;

	limit = most < VS_STEPS_LONGEST ? (uint32_t)most : VS_STEPS_LONGEST;
	sequence->nr_lags = 0;
	for (lag = 1; lag <= limit; lag++) {
		weight = (uint64_t)sequence->votes[lag] * lag;
		if (!weight)
			continue;
		if (sequence->nr_lags == VS_STEPS_LAGS && weight <= weights[VS_STEPS_LAGS - 1])
			continue;
		i = sequence->nr_lags < VS_STEPS_LAGS ? sequence->nr_lags++ : VS_STEPS_LAGS - 1;
		for (; i > 0 && weights[i - 1] < weight; i--) {
			weights[i] = weights[i - 1];
			sequence->lags[i] = sequence->lags[i - 1];
		}
		weights[i] = weight;
		sequence->lags[i] = lag;
	}
	memset(sequence->nr_equal, 0, sizeof(sequence->nr_equal));
	sequence->chosen_at = nr_requests;
	sequence->counted_to = nr_requests;
	sequence->nr_counted = 0;
}

static uint32_t get_key(const struct vs_steps_sequence *sequence, uint64_t number)
{
	return sequence->keys[number % VS_STEPS_RING];
}

/* A group: the compiler makes a few instructions of it. */
static inline __attribute__((always_inline)) uint32_t count_equal_keys(const uint32_t *a,
								       const uint32_t *b)
{
	uint32_t nr_equal = 0;

	for (int i = 0; i < VS_STEPS_GROUP; i++)
		nr_equal += a[i] == b[i];
	return nr_equal;
}

/* The group that ends before `to`, for all lags. */
static inline __attribute__((always_inline)) void compare_group(struct vs_steps_sequence *sequence,
								uint64_t to)
{
	uint64_t from = to - VS_STEPS_GROUP;
	const uint32_t *keys = &sequence->keys[from % VS_STEPS_RING];
	size_t i;

	for (i = 0; i < sequence->nr_lags; i++)
		sequence->nr_equal[i] += count_equal_keys(
			keys, &sequence->keys[(from - sequence->lags[i]) % VS_STEPS_RING]);
}

#ifdef __x86_64__
/* The same with registers that are twice as large, for processors that have them. */
static __attribute__((target("avx2"))) void compare_group_widely(struct vs_steps_sequence *sequence,
								 uint64_t to)
{
	compare_group(sequence, to);
}
#else
#define compare_group_widely compare_group
#endif

/* Requests up to `to` against those before them. Groups do not go around the ring. */
static void compare_keys(struct vs_steps_sequence *sequence, uint64_t to)
{
	uint64_t from = sequence->counted_to, number;
	size_t i;

	sequence->counted_to = to;
	sequence->nr_counted += to - from;
	/* No lag is longer than what was there when it was chosen. */
	if (to - from == VS_STEPS_GROUP && from >= sequence->chosen_at) {
		if (sequence->is_wide)
			compare_group_widely(sequence, to);
		else
			compare_group(sequence, to);
		return;
	}
	for (i = 0; i < sequence->nr_lags; i++) {
		uint32_t lag = sequence->lags[i];

		for (number = from > lag ? from : lag; number < to; number++)
			sequence->nr_equal[i] +=
				get_key(sequence, number) == get_key(sequence, number - lag);
	}
}

/* number: of a request, from 0. */
static inline void vote(struct vs_steps_sequence *sequence, uint32_t key, uint64_t number)
{
	uint64_t *latest = &sequence->latest[key % NR_LATEST];
	uint64_t here = (uint64_t)(key >> LATEST_BITS) << NUMBER_BITS | (number + 1);
	uint64_t lag = here - *latest;

	/*
	 * Keys that share a place take turns there: no vote, where the key is another, which is a
	 * difference in the upper bits. Nor where there was none: the number before the first.
	 */
	if (lag <= VS_STEPS_LONGEST && lag <= number)
		sequence->votes[lag]++;
	*latest = here;
}

/*
 * Whether the requests up to this number vote. Between those that do there are so many that do not
 * that a lag from one to the other is longer than any step.
 */
static bool is_voting(uint64_t nr)
{
	uint64_t doubling = nr > 1 ? UINT64_C(2) << (63 - __builtin_clzll(nr - 1)) : 1;

	return doubling <= MANY_REQUESTS || nr > doubling - doubling / 4;
}

/* Several at once, so that one does not have to wait until the memory of another is there. */
static void count_votes(struct vs_steps_sequence *sequence, uint64_t nr)
{
	uint64_t number;

	if (!is_voting(nr)) {
		sequence->voted_to = nr;
		return;
	}
	for (number = sequence->voted_to; number < nr; number++)
		vote(sequence, get_key(sequence, number), number);
	sequence->voted_to = nr;
}

/* Whether the group that ends there is compared: in no order, which could be that of the steps. */
static bool is_comparing(uint64_t nr)
{
	return nr <= MANY_REQUESTS || !(hash(nr / VS_STEPS_GROUP, 0) >> 30);
}

/* After each group of requests; nr: all so far. */
static void end_group(struct vs_steps_sequence *sequence, uint64_t nr)
{
	if (nr % VS_STEPS_RING == VS_STEPS_GROUP)
		memcpy(&sequence->keys[VS_STEPS_RING], sequence->keys,
		       VS_STEPS_GROUP * sizeof(sequence->keys[0]));
	if (is_comparing(nr))
		compare_keys(sequence, nr);
	else
		sequence->counted_to = nr;
}

static void clear_sequence(struct vs_steps_sequence *sequence)
{
	struct vs_steps_sequence clear = {.keys = sequence->keys,
					  .votes = sequence->votes,
					  .latest = sequence->latest,
					  .is_wide = sequence->is_wide};

	memset(clear.votes, 0, (VS_STEPS_LONGEST + 1) * sizeof(*clear.votes));
	memset(clear.latest, 0, NR_LATEST * sizeof(*clear.latest));
	*sequence = clear;
}

/* What does not have to be done for each request. nr: all so far. */
static void look_back(struct vs_steps_finder *finder, uint64_t nr)
{
	count_votes(&finder->sized, nr);
	count_votes(&finder->plain, nr);
	if (nr % VS_STEPS_GROUP == 0) {
		end_group(&finder->sized, nr);
		end_group(&finder->plain, nr);
	}
	/* Again at each doubling: what was said in the second half counts. */
	if (!(nr & (nr - 1))) {
		choose_lags(&finder->sized, nr);
		choose_lags(&finder->plain, nr);
	}
}

/* ---- From the thread that replays to the one that compares ---------------------------------- */

/* The next requests of the queue. */
static void compare_requests(struct vs_steps_finder *finder, uint32_t nr)
{
	uint64_t number = finder->nr_compared;
	const struct vs_steps_request *request;
	uint32_t i;

	for (i = 0; i < nr; i++, number++) {
		request = &finder->requests[(finder->first + number) % VS_STEPS_QUEUE];
		finder->sized.keys[number % VS_STEPS_RING] = hash(request->site, request->size);
		finder->plain.keys[number % VS_STEPS_RING] = hash(request->site, 0);
	}
	finder->nr_compared = number;
	if (number % NR_AT_ONCE == 0)
		look_back(finder, number);
}

/* Those before it were none. */
static void forget_requests(struct vs_steps_finder *finder, uint64_t nr)
{
	clear_sequence(&finder->sized);
	clear_sequence(&finder->plain);
	finder->first = nr;
	finder->nr_compared = 0;
}

/* What has been passed on, up to a group of it; the first lags are chosen from fewer. */
static bool compare_some(void *context)
{
	struct vs_steps_finder *finder = context;
	uint64_t passed = atomic_load_explicit(&finder->nr_passed, memory_order_acquire);
	uint64_t learnt = atomic_load_explicit(&finder->learnt_at, memory_order_acquire);
	uint32_t nr = VS_STEPS_GROUP, done = 0;

	if (learnt != finder->first)
		forget_requests(finder, learnt);
	if (passed < finder->first + finder->nr_compared + nr)
		return false;
	if (!finder->nr_compared)
		nr = NR_AT_ONCE;
	for (; done < VS_STEPS_GROUP; done += nr)
		compare_requests(finder, nr);
	atomic_store_explicit(&finder->nr_taken, finder->first + finder->nr_compared,
			      memory_order_release);
	return true;
}

/* All of them. Nobody else is at it. */
static void compare_all(struct vs_steps_finder *finder)
{
	uint64_t left;

	while (compare_some(finder))
		;
	while ((left = finder->nr_pushed - finder->first - finder->nr_compared) > 0) {
		uint32_t nr = NR_AT_ONCE - finder->nr_compared % NR_AT_ONCE;

		compare_requests(finder, left < nr ? (uint32_t)left : nr);
	}
}

void vs_steps_finder_pass_on(struct vs_steps_finder *finder)
{
	atomic_store_explicit(&finder->nr_passed, finder->nr_pushed, memory_order_release);
	if (!finder->is_shared)
		compare_some(finder);
}

/* Asked after each batch: then there is always room for those of another one. */
static bool is_urgent(const void *context)
{
	const struct vs_steps_finder *finder = context;

	return finder->nr_pushed - atomic_load_explicit(&finder->nr_taken, memory_order_acquire) >
	       VS_STEPS_QUEUE / 2;
}

const struct vs_chore *vs_steps_finder_get_chore(struct vs_steps_finder *finder)
{
	_Static_assert(VS_STEPS_QUEUE / 2 > VS_BATCH_MAX + VS_STEPS_GROUP, "room for a batch");
	finder->is_shared = true;
	finder->chore = (struct vs_chore){compare_some, is_urgent, finder};
	return &finder->chore;
}

void vs_steps_finder_learn(struct vs_steps_finder *finder, const struct vs_replay *replay)
{
	finder->nr_pools = replay->nr_pools;
	if (!replay->nr_dividing_pools)
		return;
	/* What was taken from the driver so far was no request. */
	finder->has_blocks = true;
	finder->is_unsure = finder->nr_blocks;
	atomic_store_explicit(&finder->learnt_at, finder->nr_pushed, memory_order_release);
	finder->nr_requests = finder->freed_at = 0;
}

static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct vs_steps_finder *finder = finder_of(observer);
	uint64_t size;
	uint32_t site;

	if (finder->is_learning && !finder->has_blocks) {
		if (replay->nr_pools != finder->nr_pools)
			vs_steps_finder_learn(finder, replay);
		finder->nr_blocks += record->type == VS_RECORD_BLOCK_ALLOC;
	}
	if (read_request(replay, record, finder->has_blocks, &site, &size))
		vs_steps_finder_note_request(finder, replay, site, size);
	return 0;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	(void)replay;
	if (change->type == VS_CHANGE_DISCHARGED)
		vs_steps_finder_note_free(finder_of(observer));
	return 0;
}

static int on_block(struct vs_observer *observer, const struct vs_replay *replay,
		    struct vs_item *block, const struct vs_record *record)
{
	(void)replay;
	(void)block;
	if (!vs_replay_is_birth(record))
		vs_steps_finder_note_free(finder_of(observer));
	return 0;
}

int vs_steps_finder_init(struct vs_steps_finder *finder, bool has_blocks)
{
	int err;

	memset(finder, 0, sizeof(*finder));
	finder->observer.before_record = before_record;
	finder->observer.on_change = on_change;
	finder->observer.changes = VS_WANTS(VS_CHANGE_DISCHARGED);
	finder->observer.on_block = on_block;
	finder->has_blocks = has_blocks;
	/* None is read before it is written: most traces do not fill them, and to clear them would
	 * have the system find memory for all. */
	finder->live = malloc(VS_STEPS_RING * sizeof(*finder->live));
	finder->sorted = malloc(VS_STEPS_RING / 2 * sizeof(*finder->sorted));
	finder->requests = malloc(VS_STEPS_QUEUE * sizeof(*finder->requests));
	err = finder->live && finder->sorted && finder->requests ? init_sequence(&finder->sized)
								 : -VS_ERR_NO_MEMORY;
	if (!err)
		err = init_sequence(&finder->plain);
	if (err)
		vs_steps_finder_fini(finder);
	return err;
}

void vs_steps_finder_fini(struct vs_steps_finder *finder)
{
	fini_sequence(&finder->sized);
	fini_sequence(&finder->plain);
	free(finder->live);
	free(finder->sorted);
	free(finder->requests);
	memset(finder, 0, sizeof(*finder));
}

int vs_steps_finder_create(struct vs_steps_finder **out)
{
	struct vs_steps_finder *finder = malloc(sizeof(*finder));
	int err = finder ? vs_steps_finder_init(finder, false) : -VS_ERR_NO_MEMORY;

	if (err) {
		free(finder);
		return err;
	}
	finder->is_learning = true;
	*out = finder;
	return 0;
}

void vs_steps_finder_destroy(struct vs_steps_finder *finder)
{
	if (finder)
		vs_steps_finder_fini(finder);
	free(finder);
}

/* ---- The step ------------------------------------------------------------------------------- */

/* Of requests that are the same one lag before: those since the lag was chosen; soon after that, of
 * the latter half of all, as far as they are still known. */
static double get_share(const struct vs_steps_sequence *sequence, uint64_t nr_requests, size_t i)
{
	uint64_t nr = nr_requests - sequence->chosen_at, nr_equal = 0, known, number;
	uint32_t lag = sequence->lags[i];

	if (nr >= sequence->chosen_at / 2 && sequence->nr_counted)
		return (double)sequence->nr_equal[i] / (double)sequence->nr_counted;
	known = nr_requests < VS_STEPS_RING ? nr_requests : VS_STEPS_RING;
	nr = nr_requests / 2 < known - lag ? nr_requests / 2 : known - lag;
	for (number = nr_requests - nr; number < nr_requests; number++)
		nr_equal += get_key(sequence, number) == get_key(sequence, number - lag);
	return nr ? (double)nr_equal / (double)nr : 0;
}

/* The shortest lag that is nearly the best; its share of equal requests, or 0. */
static double find_lag(struct vs_steps_sequence *sequence, uint64_t nr_requests, uint32_t *lag)
{
	double shares[VS_STEPS_LAGS], best = 0, found = 0;
	size_t i;

	compare_keys(sequence, nr_requests);
	if (nr_requests < NR_AT_ONCE)
		return 0;
	for (i = 0; i < sequence->nr_lags; i++) {
		shares[i] = get_share(sequence, nr_requests, i);
		if (shares[i] > best)
			best = shares[i];
	}
	*lag = 0;
	for (i = 0; i < sequence->nr_lags; i++) {
		if (shares[i] < best - NEARLY || (*lag && sequence->lags[i] >= *lag))
			continue;
		*lag = sequence->lags[i];
		found = shares[i];
	}
	return found;
}

static int compare_places(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The requests [from, from + lag) by key, and then by their place. */
static void sort_requests(const struct vs_steps_sequence *sequence, uint64_t from, uint32_t lag,
			  uint64_t *sorted)
{
	uint32_t i;

	for (i = 0; i < lag; i++)
		sorted[i] = (uint64_t)get_key(sequence, from + i) << 32 | i;
	qsort(sorted, lag, sizeof(sorted[0]), compare_places);
}

/*
 * Live bytes before the i-th request of a repetition, without what the repetition keeps: of several
 * steps in one, the later would not seem to begin with little.
 */
static int64_t get_live(const struct vs_steps_finder *finder, uint64_t from, uint32_t lag,
			uint32_t i)
{
	int64_t first = (int64_t)finder->live[from % VS_STEPS_RING];
	int64_t kept = (int64_t)finder->live[(from + lag) % VS_STEPS_RING] - first;

	return (int64_t)finder->live[(from + i) % VS_STEPS_RING] -
	       (int64_t)((double)kept * i / lag);
}

/* Between steps little is live: a tenth of the way up, at most, in the repetition from there on. */
static int64_t get_low(const struct vs_steps_finder *finder, uint64_t from, uint32_t lag)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	uint32_t i;

	for (i = 0; i < lag; i++) {
		int64_t live = get_live(finder, from, lag, i);

		least = live < least ? live : least;
		most = live > most ? live : most;
	}
	return least + (most - least) / 10;
}

/* Whether the places of a key are at even distances, the way around included. */
static bool is_even(const uint64_t *places, size_t nr, uint32_t lag)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		uint32_t here = (uint32_t)places[i], next = (uint32_t)places[(i + 1) % nr];
		uint64_t gap = i + 1 < nr ? next - here : next + lag - here;

		if (gap * nr * 2 < lag || gap * nr * 2 > (uint64_t)lag * 3)
			return false;
	}
	return true;
}

/* Where a key begins in sorted requests, or would. */
static size_t find_key(const uint64_t *sorted, uint32_t lag, uint32_t key)
{
	uint64_t first = (uint64_t)key << 32;
	size_t at = 0, end = lag;

	while (at < end) {
		size_t middle = at + (end - at) / 2;

		if (sorted[middle] < first)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

/* How often a key comes in a repetition, always when little is live and evenly; 0: it does not. */
static size_t count_beginnings(const struct vs_steps_finder *finder, const uint64_t *sorted,
			       uint64_t from, uint32_t lag, uint32_t key, int64_t low)
{
	size_t at = find_key(sorted, lag, key), nr;

	for (nr = 0; at + nr < lag && sorted[at + nr] >> 32 == key; nr++)
		if (get_live(finder, from, lag, (uint32_t)sorted[at + nr]) > low)
			return 0;
	return nr && is_even(sorted + at, nr, lag) ? nr : 0;
}

/*
 * A repetition may be several steps, every tenth of which does something more. The request that a
 * step begins with comes in each of them, when little is live. Of the last two repetitions that are
 * whole. Returns how many steps one is; 0: nothing is known to begin them.
 */
static size_t find_beginning(const struct vs_steps_finder *finder,
			     const struct vs_steps_sequence *sequence, uint32_t lag, uint32_t *key)
{
	uint64_t from = finder->nr_requests - 2 * (uint64_t)lag, before = from - lag;
	uint64_t *sorted = finder->sorted, *others = finder->sorted + lag;
	int64_t low = get_low(finder, from, lag), low_before = get_low(finder, before, lag);
	int64_t least = 0;
	size_t most = 0, nr;
	uint32_t i;

	sort_requests(sequence, from, lag, sorted);
	sort_requests(sequence, before, lag, others);
	for (i = 0; i < lag; i++) {
		int64_t live = get_live(finder, from, lag, i);
		uint32_t each = get_key(sequence, from + i);

		/* Each key once, where it comes first. */
		if (live > low || (uint32_t)sorted[find_key(sorted, lag, each)] != i)
			continue;
		nr = count_beginnings(finder, sorted, from, lag, each, low);
		if (nr < most || !nr || (nr == most && live >= least) ||
		    count_beginnings(finder, others, before, lag, each, low_before) != nr)
			continue;
		most = nr;
		least = live;
		*key = each;
	}
	return most;
}

/* The only place of a key among sorted requests, or `lag`: there is none, or another. */
static uint32_t get_only_place(const uint64_t *sorted, uint32_t lag, uint32_t key)
{
	size_t at = find_key(sorted, lag, key);

	if (at == lag || sorted[at] >> 32 != key || (at + 1 < lag && sorted[at + 1] >> 32 == key))
		return lag;
	return (uint32_t)sorted[at];
}

/*
 * Where nothing comes only when little is live, as in epochs that train and then keep what they
 * validate: a request that comes once in each of the last two repetitions, at the same place, more
 * or less. It may be in the middle of something, but always of the same. Of those the one with the
 * least live. Returns whether there is one.
 */
static bool find_mark(const struct vs_steps_finder *finder,
		      const struct vs_steps_sequence *sequence, uint32_t lag, uint32_t *key)
{
	uint64_t from = finder->nr_requests - 2 * (uint64_t)lag, before = from - lag;
	uint64_t *sorted = finder->sorted, *others = finder->sorted + lag;
	int64_t least = INT64_MAX;
	uint32_t i;

	sort_requests(sequence, from, lag, sorted);
	sort_requests(sequence, before, lag, others);
	for (i = 0; i < lag; i++) {
		uint32_t each = get_key(sequence, from + i);
		uint32_t other = get_only_place(others, lag, each);
		int64_t live = get_live(finder, from, lag, i);

		if (live >= least || other == lag || get_only_place(sorted, lag, each) != i ||
		    (other > i ? other - i : i - other) > lag / MARK_DRIFT)
			continue;
		least = live;
		*key = each;
	}
	return least < INT64_MAX;
}

void vs_steps_finder_get(struct vs_steps_finder *finder, struct vs_steps *steps)
{
	const struct vs_steps_sequence *sequence = &finder->sized;
	uint32_t lag = 0, plain_lag = 0;
	double share, plain;
	size_t nr, nr_plain;
	uint32_t key;

	compare_all(finder);
	share = find_lag(&finder->sized, finder->nr_requests, &lag);
	plain = find_lag(&finder->plain, finder->nr_requests, &plain_lag);
	memset(steps, 0, sizeof(*steps));
	/* That one site asks again and again is no rhythm. */
	if (plain > share + SIZED_BONUS && plain_lag > 1) {
		sequence = &finder->plain;
		share = plain;
		lag = plain_lag;
	}
	if (share < LEAST_EQUAL || !lag || finder->nr_requests < (uint64_t)lag * VS_STEPS_LEAST)
		return;
	/* A program that only takes memory is starting, not stepping. */
	if (finder->freed_at + lag < finder->nr_requests)
		return;
	nr = find_beginning(finder, sequence, lag, &steps->key);
	steps->is_key_sized = sequence == &finder->sized;
	/* Batches of two sizes in turn: what each begins with is the same site, not the same size.
	 */
	if (steps->is_key_sized) {
		nr_plain = find_beginning(finder, &finder->plain, lag, &key);
		if (nr_plain && nr_plain >= nr) {
			steps->is_key_sized = false;
			steps->key = key;
			nr = nr_plain;
		}
	}
	if (!nr && lag > 1 && find_mark(finder, sequence, lag, &steps->key)) {
		steps->is_key_sized = sequence == &finder->sized;
		steps->is_round = true;
		nr = 1;
	}
	if (!nr)
		return;
	steps->is_found = true;
	steps->is_sized = sequence == &finder->sized;
	steps->period = lag / nr;
	steps->confidence = share;
	steps->has_blocks = finder->has_blocks;
}

/* ---- Again with steps ----------------------------------------------------------------------- */

static int find(const struct vs_analysis *analysis, struct vs_steps *steps, uint64_t *nr_requests)
{
	struct vs_steps_finder *found = analysis->finder, finder;
	struct vs_replay *replay;
	int err;

	if (found && !found->is_unsure &&
	    found->has_blocks == (analysis->replay->nr_dividing_pools > 0)) {
		vs_steps_finder_get(found, steps);
		*nr_requests = found->nr_requests;
		return 0;
	}
	err = vs_steps_finder_init(&finder, analysis->replay->nr_dividing_pools > 0);

	if (err)
		return err;
	err = vs_analysis_observe(analysis, &finder.observer, &replay);
	if (!err) {
		vs_steps_finder_get(&finder, steps);
		*nr_requests = finder.nr_requests;
		vs_replay_destroy(replay);
	}
	vs_steps_finder_fini(&finder);
	return err;
}

/* Boundaries where a step begins: in front of the measure of what is retained. */
struct divider {
	struct vs_observer observer; /* first */
	const struct vs_steps *steps;
	struct vs_measure_retained *retained;
	uint64_t nr_requests;
	uint64_t first_at; /* request with which the first step began */
	uint64_t begun_at; /* the latest */
	uint64_t nr_even;  /* requests of steps that are about as long as they should be */
	bool has_begun;
};

/* Half to one and a half of a period. */
static bool is_even_step(const struct vs_steps *steps, uint64_t nr_requests)
{
	return nr_requests * 2 >= steps->period && nr_requests * 2 <= (uint64_t)steps->period * 3;
}

static int divide(struct vs_observer *observer, const struct vs_replay *replay,
		  const struct vs_record *record)
{
	struct divider *divider = (struct divider *)(void *)observer; /* its first member */
	const struct vs_steps *steps = divider->steps;
	uint64_t number;
	uint32_t key;

	if (!replay->is_in_window ||
	    !vs_steps_read(replay, record, steps->has_blocks, steps->is_key_sized, &key))
		return 0;
	number = divider->nr_requests++;
	/* The same request once more within half a step begins none. */
	if (key != steps->key ||
	    (divider->has_begun && (number - divider->begun_at) * 2 < steps->period))
		return 0;
	if (!divider->has_begun)
		divider->first_at = number;
	else if (is_even_step(steps, number - divider->begun_at))
		divider->nr_even += number - divider->begun_at;
	divider->has_begun = true;
	divider->begun_at = number;
	return vs_measure_retained_add_boundary(divider->retained, replay, record->time_ns);
}

static int forward_change(struct vs_observer *observer, const struct vs_replay *replay,
			  const struct vs_change *change)
{
	struct divider *divider = (struct divider *)(void *)observer;
	struct vs_observer *inner = &divider->retained->observer;

	return inner->on_change(inner, replay, change);
}

/* How sure these steps are: requests that are alike, and that are in steps of an even length. */
static double get_confidence(const struct divider *divider)
{
	uint64_t last = divider->nr_requests - divider->begun_at, nr;
	double confidence;

	nr = divider->nr_requests - divider->first_at;
	/* One request again and again is a rhythm only if there is nothing else. */
	if (divider->steps->period == 1)
		nr = divider->nr_requests;
	/* The last one may be cut short. */
	if (last * 2 <= (uint64_t)divider->steps->period * 3)
		nr -= last;
	confidence = nr ? divider->steps->confidence * (double)divider->nr_even / (double)nr : 0;
	return confidence < MOST_SURE ? confidence : MOST_SURE;
}

static int forward_block(struct vs_observer *observer, const struct vs_replay *replay,
			 struct vs_item *block, const struct vs_record *record)
{
	struct divider *divider = (struct divider *)(void *)observer;

	return vs_measure_retained_note(divider->retained, replay, block,
					vs_replay_is_birth(record));
}

static int measure_again(struct vs_analysis *analysis, const struct vs_steps *steps)
{
	struct vs_measure_retained *retained = malloc(sizeof(*retained));
	struct divider divider = {.observer = {.before_record = divide,
					       .on_change = forward_change,
					       .on_block = forward_block},
				  .steps = steps,
				  .retained = retained};
	struct vs_replay *replay;
	int err;

	if (!retained)
		return -VS_ERR_NO_MEMORY;
	vs_measure_retained_init(retained,
				 steps->is_round ? VS_BOUNDARY_ROUNDS : VS_BOUNDARY_DERIVED, 0, 0);
	retained->period = steps->period;
	err = vs_analysis_observe(analysis, &divider.observer, &replay);
	if (!err)
		vs_replay_destroy(replay);
	retained->confidence = get_confidence(&divider);
	if (!err && retained->nr_passed >= VS_STEPS_LEAST && retained->confidence >= LEAST_EQUAL) {
		vs_measure_retained_fini(&analysis->retained);
		analysis->retained = *retained;
	} else {
		vs_measure_retained_fini(retained);
	}
	free(retained);
	return err;
}

int vs_steps_derive(struct vs_analysis *analysis, bool is_forced)
{
	bool has_blocks = analysis->replay->nr_dividing_pools > 0;
	uint64_t nr_requests = 0;
	struct vs_steps steps;
	int err;

	if (analysis->retained.unit != VS_BOUNDARY_INTERVALS && !is_forced)
		return 0;
	err = find(analysis, &steps, &nr_requests);
	if (!err && steps.is_found)
		err = measure_again(analysis, &steps);
	/* None were found, or none that are sure enough. */
	return err ? err : vs_request_cuts_try(analysis, has_blocks, nr_requests);
}
