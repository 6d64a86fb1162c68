#ifndef VS_UNWIND_ECHO_H
#define VS_UNWIND_ECHO_H

#include "unwind_memo.h"
#include "unwind_path.h"

/*
 * The shortest way to know a stack again: nothing has changed. Programs allocate in loops, from the
 * same stacks in the same order. So a thread keeps some stacks word by word, with the number of the
 * one that came next last time. If all words of that one lie there again, its path
 * (unwind_memo.h) is the path: to compare words takes less than to find runs and to mix.
 *
 * An echo is right whatever becomes of the runs: its words led to its path when the runs were
 * followed, and a path that was learned means the same stack for good. Whoever's next one is not to
 * be foreseen is not asked (doubts), and in a program with many stacks in no order hardly any are
 * kept (vs_unwind_echo_spend).
 *
 * Only its own thread touches it. One that is interrupted, or even jumps away, while it keeps one
 * leaves an echo that is not found.
 */
#define VS_UNWIND_ECHO_SET_BITS  5
#define VS_UNWIND_ECHO_NR_WAYS   4
#define VS_UNWIND_ECHO_NR        ((1u << VS_UNWIND_ECHO_SET_BITS) * VS_UNWIND_ECHO_NR_WAYS)
#define VS_UNWIND_ECHO_NR_GROUPS 24u
#define VS_UNWIND_ECHO_NR_WORDS  (4 * VS_UNWIND_ECHO_NR_GROUPS)

/* To keep one takes as long as to know so many again; events pay it back one by one. */
#define VS_UNWIND_ECHO_COST      512u
#define VS_UNWIND_ECHO_MOST_DEBT (2 * VS_UNWIND_ECHO_NR * VS_UNWIND_ECHO_COST)

/* Each other one than foreseen counts four times as much as one that is, or one that is not kept.
 */
#define VS_UNWIND_ECHO_DOUBT      4u
#define VS_UNWIND_ECHO_MOST_DOUBT 32u

/* Slots are offsets from sp, in words. */
struct vs_unwind_echo_group {
	uint64_t words[4];
	uint16_t slots[4];
};

struct vs_unwind_echo {
	_Alignas(64) uint64_t key; /* of the instruction: vs_unwind_memo_get_key(); 0: none */
	uintptr_t sp;
	uintptr_t bp;
	uintptr_t bp_mask; /* the bits of bp that lead the walk: all of them or none */
	uint32_t next;     /* place of what comes behind it; 0: that is not to be foreseen */
	uint32_t behind;   /* place of what came behind it last time */
	uint64_t era;      /* in which `number` is that of the stack; 0: none */
	uint32_t number;
	uint32_t doubts;      /* whether what comes behind it is to be foreseen */
	uint32_t groups_size; /* in bytes; what is left of the last one is the first word again */
	struct vs_unwind_path path;
	struct vs_unwind_echo_group groups[VS_UNWIND_ECHO_NR_GROUPS];
};

/* Where to look for a stack by its path. Tags are of key and path; 0: none yet. */
struct vs_unwind_echo_set {
	uint32_t kept[VS_UNWIND_ECHO_NR_WAYS];
	uint32_t next_way;
};

/*
 * The place of an echo is where it is, in bytes from the first one on, which is nobody's: it is
 * never kept, and comes before all others. All zero at first: pages that are not used are not
 * touched.
 */
struct vs_unwind_echoes {
	uint32_t last;     /* place of the echo that was heard last */
	uint32_t nr_begun; /* echoes */
	uint64_t debt;
	uint64_t paid_until; /* number of the event */
	struct vs_unwind_echo_set sets[1u << VS_UNWIND_ECHO_SET_BITS];
	struct vs_unwind_echo echoes[1 + VS_UNWIND_ECHO_NR];
};

static inline struct vs_unwind_echo *vs_unwind_echo_at(struct vs_unwind_echoes *self,
						       uint32_t place)
{
	return (struct vs_unwind_echo *)(void *)((char *)self->echoes + place);
}

VS_UNWIND_UNWATCHED static inline __attribute__((always_inline)) bool vs_unwind_echo_is_same(
	const struct vs_unwind_echo_group *group, uintptr_t sp, unsigned i)
{
	return vs_unwind_memory_load(sp + group->slots[i] * sizeof(uint64_t)) == group->words[i];
}

/*
 * Whether the walk of this frame is that of the echo. What is kept is on the thread's own stack,
 * which is never known to be smaller than it was: where the frame is the same, all of it can be
 * loaded.
 */
VS_UNWIND_UNWATCHED static inline bool vs_unwind_echo_is_here(const struct vs_unwind_echo *echo,
							      uintptr_t frame)
{
	const struct vs_unwind_echo_group *group = echo->groups;
	const void *behind = (const char *)group + echo->groups_size;
	uintptr_t sp = frame + VS_UNWIND_ARCH_FRAME_SIZE;

	if (echo->sp != sp ||
	    echo->key != vs_unwind_memo_get_key(
				 vs_unwind_memory_load(frame + VS_UNWIND_ARCH_FRAME_RETURN)) ||
	    ((echo->bp ^ vs_unwind_memory_load(frame + VS_UNWIND_ARCH_FRAME_BP)) & echo->bp_mask))
		return false;
	for (; (const void *)group < behind; group++)
		if (!vs_unwind_echo_is_same(group, sp, 0) ||
		    !vs_unwind_echo_is_same(group, sp, 1) ||
		    !vs_unwind_echo_is_same(group, sp, 2) || !vs_unwind_echo_is_same(group, sp, 3))
			return false;
	return true;
}

/* The echo that was foreseen, if the walk of this frame is that one, or NULL. */
VS_UNWIND_UNWATCHED static inline struct vs_unwind_echo *vs_unwind_echo_hear(
	struct vs_unwind_echoes *self, const void *frame)
{
	uint32_t place = vs_unwind_echo_at(self, self->last)->next;
	struct vs_unwind_echo *echo = vs_unwind_echo_at(self, place);

	if (__builtin_expect(!vs_unwind_echo_is_here(echo, (uintptr_t)frame), 0))
		return NULL;
	self->last = place;
	return echo;
}

/* With the key, so that what was kept before code was unloaded is kept anew. */
static inline uint32_t vs_unwind_echo_make_tag(uint64_t key, const struct vs_unwind_path *path)
{
	return (uint32_t)((path->b ^ key * VS_UNWIND_RULES_MIX) >> 32) | 1;
}

static inline uint32_t vs_unwind_echo_choose_set(const struct vs_unwind_path *path)
{
	return (uint32_t)(path->a >> (64 - VS_UNWIND_ECHO_SET_BITS));
}

/* The number of the stack with this path; VS_UNWIND_ECHO_NR: it is not kept. */
static inline uint32_t vs_unwind_echo_find(const struct vs_unwind_echoes *self, uint64_t key,
					   const struct vs_unwind_path *path)
{
	uint32_t set = vs_unwind_echo_choose_set(path);
	uint32_t tag = vs_unwind_echo_make_tag(key, path);

	for (uint32_t way = 0; way < VS_UNWIND_ECHO_NR_WAYS; way++)
		if (self->sets[set].kept[way] == tag)
			return set * VS_UNWIND_ECHO_NR_WAYS + way;
	return VS_UNWIND_ECHO_NR;
}

static inline void vs_unwind_echo_doubt(struct vs_unwind_echo *last, uint32_t more)
{
	if (last->doubts < 2 * VS_UNWIND_ECHO_MOST_DOUBT)
		last->doubts += more;
	last->next = last->doubts < VS_UNWIND_ECHO_MOST_DOUBT ? last->behind : 0;
}

/* The stack that was missed is none that is kept. */
static inline void vs_unwind_echo_pass(struct vs_unwind_echoes *self)
{
	struct vs_unwind_echo *last = vs_unwind_echo_at(self, self->last);

	if (last->next)
		vs_unwind_echo_doubt(last, 1);
}

/* The stack that was missed is the one with this number: foreseen from now on. */
static inline struct vs_unwind_echo *vs_unwind_echo_connect(struct vs_unwind_echoes *self,
							    uint32_t number)
{
	struct vs_unwind_echo *last = vs_unwind_echo_at(self, self->last);

	bool is_other;

	self->last = (1 + number) * (uint32_t)sizeof(*last);
	is_other = last->behind != self->last;
	if (!is_other && last->doubts)
		last->doubts--;
	last->behind = self->last;
	vs_unwind_echo_doubt(last, is_other ? VS_UNWIND_ECHO_DOUBT : 0);
	return vs_unwind_echo_at(self, self->last);
}

/* Whether another one may be kept. nr_events: of the thread. */
bool vs_unwind_echo_spend(struct vs_unwind_echoes *self, uint64_t nr_events);

/*
 * An echo while it is made, of the stack with a path: begin, then add for each run that is
 * followed, in their order, then end. What was kept in its place before is gone with the first.
 */
struct vs_unwind_echo_maker {
	struct vs_unwind_echo *echo;
	uint32_t *kept; /* in its set */
	uint32_t turn;  /* nr_begun then */
	uint32_t nr_words;
	uintptr_t bp_slot; /* of the bp of the frame, if it was loaded */
	bool is_loaded;    /* it is not the one at the beginning */
	bool has_bp;       /* it is among the words */
};

void vs_unwind_echo_begin(struct vs_unwind_echo_maker *maker, struct vs_unwind_echoes *self,
			  const struct vs_unwind_state *from, const struct vs_unwind_path *path);

/* sp: at the beginning of the run. False: that is more than there is room for. */
bool vs_unwind_echo_add(struct vs_unwind_echo_maker *maker, const struct vs_unwind_memo_run *run,
			uintptr_t sp);

/* key: of the instruction. False: a signal handler has made one meanwhile. Otherwise it is found.
 */
bool vs_unwind_echo_end(const struct vs_unwind_echo_maker *maker,
			const struct vs_unwind_echoes *self, uint64_t key,
			const struct vs_unwind_path *path);

#endif
