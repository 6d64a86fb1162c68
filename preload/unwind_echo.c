#include "unwind_echo.h"

bool vs_unwind_echo_spend(struct vs_unwind_echoes *self, uint64_t nr_events)
{
	uint64_t nr_paid = nr_events - self->paid_until;

	self->paid_until = nr_events;
	self->debt -= nr_paid < self->debt ? nr_paid : self->debt;
	if (self->debt >= VS_UNWIND_ECHO_MOST_DEBT)
		return false;
	self->debt += VS_UNWIND_ECHO_COST;
	return true;
}

/* Its place in the set: an empty one, or that of another stack. */
static uint32_t choose_way(struct vs_unwind_echo_set *set)
{
	for (uint32_t way = 0; way < VS_UNWIND_ECHO_NR_WAYS; way++)
		if (!set->kept[way])
			return way;
	return set->next_way++ % VS_UNWIND_ECHO_NR_WAYS;
}

void vs_unwind_echo_begin(struct vs_unwind_echo_maker *maker, struct vs_unwind_echoes *self,
			  const struct vs_unwind_state *from, const struct vs_unwind_path *path)
{
	uint32_t number = vs_unwind_echo_choose_set(path);
	struct vs_unwind_echo_set *set = &self->sets[number];
	uint32_t way = choose_way(set);
	struct vs_unwind_echo *echo = &self->echoes[1 + number * VS_UNWIND_ECHO_NR_WAYS + way];

	/* A signal handler may jump out of here: until the end nobody finds it. */
	echo->key = 0;
	set->kept[way] = 0;
	atomic_signal_fence(memory_order_seq_cst);
	echo->sp = from->sp;
	echo->bp = from->bp;
	echo->bp_mask = 0;
	echo->era = 0;
	echo->next = 0;
	echo->behind = 0;
	echo->doubts = 0;
	*maker = (struct vs_unwind_echo_maker){
		.echo = echo,
		.kept = &set->kept[way],
		.turn = ++self->nr_begun,
	};
}

/* slot: from the sp of the echo. */
VS_UNWIND_UNWATCHED static bool add_word(struct vs_unwind_echo_maker *maker, uintptr_t slot)
{
	struct vs_unwind_echo *echo = maker->echo;
	struct vs_unwind_echo_group *group = &echo->groups[maker->nr_words / 4];
	unsigned i = maker->nr_words % 4;

	if (maker->nr_words == VS_UNWIND_ECHO_NR_WORDS || slot > UINT16_MAX)
		return false;
	group->slots[i] = (uint16_t)slot;
	group->words[i] = vs_unwind_memory_load(echo->sp + slot * sizeof(uint64_t));
	maker->nr_words++;
	return true;
}

/* The bp that a run begins with leads it. */
static bool add_bp(struct vs_unwind_echo_maker *maker)
{
	if (!maker->is_loaded)
		maker->echo->bp_mask = UINTPTR_MAX;
	else if (!maker->has_bp && !add_word(maker, maker->bp_slot))
		return false;
	maker->has_bp = true;
	return true;
}

bool vs_unwind_echo_add(struct vs_unwind_echo_maker *maker, const struct vs_unwind_memo_run *run,
			uintptr_t sp)
{
	uintptr_t slot = (sp - maker->echo->sp) / sizeof(uint64_t);

	if ((run->flags & VS_UNWIND_MEMO_USES_BP) && !add_bp(maker))
		return false;
	for (unsigned i = 0; i < run->nr_words; i++)
		if (!add_word(maker, slot + run->slots[i]))
			return false;
	if (run->nr_words && run->to_bp_slot != VS_UNWIND_MEMO_NO_SLOT) {
		maker->bp_slot = slot + run->to_bp_slot;
		maker->is_loaded = true;
		maker->has_bp = false;
	}
	return true;
}

bool vs_unwind_echo_end(const struct vs_unwind_echo_maker *maker,
			const struct vs_unwind_echoes *self, uint64_t key,
			const struct vs_unwind_path *path)
{
	struct vs_unwind_echo *echo = maker->echo;
	uint32_t nr_groups = (maker->nr_words + 3) / 4;

	echo->groups_size = nr_groups * (uint32_t)sizeof(*echo->groups);
	for (uint32_t i = maker->nr_words; i < 4 * nr_groups; i++) {
		struct vs_unwind_echo_group *group = &echo->groups[i / 4];

		group->slots[i % 4] = echo->groups[0].slots[0];
		group->words[i % 4] = echo->groups[0].words[0];
	}
	echo->path = *path;
	atomic_signal_fence(memory_order_seq_cst);
	if (maker->turn != self->nr_begun)
		return false;
	*maker->kept = vs_unwind_echo_make_tag(key, path);
	echo->key = key;
	return true;
}
