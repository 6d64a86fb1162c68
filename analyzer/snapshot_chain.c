/* The order of everything here is that of docs/trace-format.md, section 9.4. */
#include "snapshot_chain.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "number_column.h"

/* No more accounts than so many for each byte that tells of them. */
#define MOST_FOR_A_BYTE 4096

int vs_snapshot_chain_create(struct vs_snapshot_chain **chain)
{
	*chain = calloc(1, sizeof(**chain));
	return *chain ? 0 : -VS_ERR_NO_MEMORY;
}

void vs_snapshot_chain_destroy(struct vs_snapshot_chain *chain)
{
	if (!chain)
		return;
	vs_snapshot_list_fini(&chain->items);
	free(chain->accounts);
	free(chain);
}

static void fail(struct vs_wire *in)
{
	if (!in->error)
		in->error = -VS_ERR_CORRUPT;
}

/* Some bytes, of which the size stands in front. */
static struct vs_wire get_part(struct vs_wire *in)
{
	uint64_t size = vs_wire_get_varint(in);
	const uint8_t *bytes = vs_wire_get_bytes(in, size);
	struct vs_wire part;

	vs_wire_init(&part, bytes ? bytes : in->end, bytes ? (size_t)size : 0);
	part.error = in->error;
	return part;
}

/* ---- Accounts ------------------------------------------------------------------------------- */

/* Numbers of 32 bits, or none: the caller's to free. */
static uint64_t *get_numbers(struct vs_wire *in, enum vs_number_kind kind, size_t nr)
{
	uint64_t *numbers = in->error ? NULL : calloc(nr + 1, sizeof(*numbers));

	if (numbers)
		vs_number_column_get(in, kind, numbers, nr);
	else if (!in->error)
		in->error = -VS_ERR_NO_MEMORY;
	return numbers;
}

static uint32_t get_small(struct vs_wire *in, uint64_t number)
{
	if (number > UINT32_MAX)
		fail(in);
	return (uint32_t)number;
}

/* How many there are, at most `most`. */
static size_t get_count(struct vs_wire *in, uint64_t most)
{
	size_t left = vs_wire_left(in);
	uint64_t nr = vs_wire_get_varint(in);

	if (nr / MOST_FOR_A_BYTE > left || nr > most)
		fail(in);
	return in->error ? 0 : (size_t)nr;
}

static void add_accounts(struct vs_snapshot_chain *chain, struct vs_wire *in)
{
	size_t nr = get_count(in, UINT32_MAX), i;
	uint64_t *sites = get_numbers(in, VS_NUMBERS_SIGNED, nr);
	uint64_t *places = get_numbers(in, VS_NUMBERS_PLAIN, nr);
	uint64_t *apis = get_numbers(in, VS_NUMBERS_PLAIN, nr);
	uint64_t site = chain->nr_accounts ? chain->accounts[chain->nr_accounts - 1].site : 0;

	if (!in->error &&
	    VS_GROW(chain->accounts, chain->accounts_capacity, chain->nr_accounts + nr))
		in->error = -VS_ERR_NO_MEMORY;
	for (i = 0; i < nr && !in->error; i++) {
		site += sites[i];
		chain->accounts[chain->nr_accounts++] = (struct vs_snapshot_account){
			get_small(in, site), get_small(in, places[i]), get_small(in, apis[i])};
	}
	free(sites);
	free(places);
	free(apis);
}

/* Those that learnt only now which function they come from. */
static void change_apis(struct vs_snapshot_chain *chain, struct vs_wire *in)
{
	size_t nr = get_count(in, chain->nr_accounts), i;
	uint64_t *which = get_numbers(in, VS_NUMBERS_PLAIN, nr);
	uint64_t *apis = get_numbers(in, VS_NUMBERS_PLAIN, nr);

	for (i = 0; i < nr && !in->error; i++) {
		if (which[i] < chain->nr_accounts)
			chain->accounts[which[i]].api = get_small(in, apis[i]);
		else
			fail(in);
	}
	free(which);
	free(apis);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void forget(struct vs_snapshot_chain *chain)
{
	memset(chain->numbers, 0, sizeof(chain->numbers));
	chain->nr_accounts = 0;
	chain->items.nr = chain->items.nr_rows = 0;
}

static void get_state(struct vs_snapshot_chain *chain, struct vs_wire *in)
{
	struct vs_wire state = get_part(in);
	size_t i;

	for (i = 0; i < VS_SNAPSHOT_NR_NUMBERS; i++)
		chain->numbers[i] = vs_wire_get_varint(&state);
	chain->state = state;
	if (!in->error)
		in->error = state.error;
}

static void get_virtual(struct vs_snapshot_chain *chain, struct vs_wire *in, bool is_whole)
{
	struct vs_wire part = get_part(in);

	/* Nothing: as before. */
	if (vs_wire_left(&part))
		chain->virtual = part;
	else if (is_whole)
		fail(in);
}

int vs_snapshot_chain_add(struct vs_snapshot_chain *chain, const void *bytes, size_t size,
			  bool is_whole)
{
	struct vs_snapshot_origin origin;
	struct vs_wire in, accounts;

	vs_wire_init(&in, bytes, size);
	if (!is_whole && !chain->has_begun)
		fail(&in);
	if (is_whole)
		forget(chain);
	chain->has_begun = true;
	origin = (struct vs_snapshot_origin){chain->numbers[VS_SNAPSHOT_LAST_ID],
					     chain->numbers[VS_SNAPSHOT_NOW_NS],
					     chain->numbers[VS_SNAPSHOT_NR_STEPS]};
	get_state(chain, &in);
	accounts = get_part(&in);
	add_accounts(chain, &accounts);
	change_apis(chain, &accounts);
	get_virtual(chain, &in, is_whole);
	if (!in.error)
		in.error = accounts.error;
	if (!in.error)
		vs_snapshot_list_change(&chain->items, &in, &origin);
	if (vs_wire_left(&in) || vs_wire_left(&accounts))
		fail(&in);
	return in.error;
}

size_t vs_snapshot_chain_count(const struct vs_snapshot_chain *chain)
{
	return chain->items.nr;
}

int vs_snapshot_chain_add_sums(struct vs_snapshot_chain *chain, const void *bytes, size_t size)
{
	struct vs_wire in;

	vs_wire_init(&in, bytes, size);
	forget(chain);
	get_state(chain, &in);
	add_accounts(chain, &in);
	chain->sums = in;
	return in.error;
}
