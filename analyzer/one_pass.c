#include "one_pass.h"

#include <string.h>

/* Of what modules asked for when they were called, one part of so many is kept, or more: without
 * autograd next to nothing would be. */
#define KEPT_PART 3

/* Rounds whose beginning was found in what repeats count as if there were so many. */
#define LEAST_ROUNDS 16

/* Who asks for memory. */
enum asker {
	OTHERS,
	MODULE, /* of PyTorch, while it is made or moved */
	CALLED, /* while it is called */
};

static enum asker find_asker(const struct vs_definitions *definitions, const struct vs_site *site)
{
	enum asker asker = OTHERS;

	vs_definitions_need_frames(site);
	for (uint32_t i = 0; i < site->nr_frames; i++) {
		const struct vs_definition_code *code;
		uint64_t frame = site->frames[i].address;

		if (!vs_frame_is(frame, VS_FRAME_PYTHON))
			continue;
		code = vs_definitions_get_code(definitions, vs_frame_get_code(frame));
		if (!code || !code->file || !strstr(code->file, "/torch/nn/modules/"))
			continue;
		asker = MODULE;
		if (code->name && strstr(code->name, "_call_impl"))
			return CALLED;
	}
	return asker;
}

bool vs_one_pass_is_in_call(const struct vs_definitions *definitions, const struct vs_site *site)
{
	return find_asker(definitions, site) == CALLED;
}

bool vs_one_pass_has_backward(const struct vs_definitions *definitions)
{
	for (size_t i = 0; i < definitions->nr_sites; i++) {
		const struct vs_site *site = definitions->sites[i];

		vs_definitions_need_frames(site);
		for (uint32_t k = 0; k < site->nr_frames; k++)
			if (site->frames[k].address == vs_frame_make_link(VS_LINK_BACKWARD))
				return true;
	}
	return false;
}

/* What grows, if all of it is asked for while modules are called; else 0. */
static uint64_t get_kept(const struct vs_retained *retained,
			 const struct vs_definitions *definitions)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < retained->nr_growing; i++) {
		if (find_asker(definitions, retained->sites[i].account->site) != CALLED)
			return 0;
		bytes += retained->sites[i].last_bytes;
	}
	return bytes;
}

/*
 * Whether something else is asked for in every second round: it is a loop of the program's own. By
 * what request a round begins was found in the sequence: of few rounds that one proves nothing.
 */
static bool has_rounds(const struct vs_retained *retained, const struct vs_analysis *analysis,
		       const struct vs_replay_device *device, uint64_t *called_bytes)
{
	uint64_t nr_rounds = (uint64_t)retained->growth.nr_grown * retained->growth.stride *
			     retained->boundary_stride;
	const struct vs_replay *replay = analysis->replay;

	if (analysis->retained.unit == VS_BOUNDARY_ROUNDS && nr_rounds < LEAST_ROUNDS)
		nr_rounds = LEAST_ROUNDS;
	*called_bytes = 0;
	for (size_t i = 0; i < replay->nr_accounts; i++) {
		const struct vs_account *account = replay->accounts[i];
		const struct vs_site_totals *totals =
			vs_measure_sites_get(&analysis->sites, account);
		enum asker asker;

		if (account->device != device || !totals->nr_allocs)
			continue;
		asker = find_asker(&replay->definitions, account->site);
		if (asker == CALLED)
			*called_bytes += totals->bytes_allocated;
		if (asker == OTHERS && totals->nr_allocs * 2 >= nr_rounds)
			return true;
	}
	return false;
}

void vs_one_pass_find(struct vs_retained *retained, const struct vs_analysis *analysis,
		      const struct vs_replay_device *device)
{
	const struct vs_definitions *definitions = &analysis->replay->definitions;
	enum vs_boundary_unit unit = analysis->retained.unit;
	uint64_t kept, called;

	retained->may_be_pass = false;
	if (!retained->growth.is_growing || unit == VS_BOUNDARY_STEPS || unit == VS_BOUNDARY_PHASES)
		return;
	kept = get_kept(retained, definitions);
	if (kept && !has_rounds(retained, analysis, device, &called))
		retained->may_be_pass =
			kept >= called / KEPT_PART && !vs_one_pass_has_backward(definitions);
}
