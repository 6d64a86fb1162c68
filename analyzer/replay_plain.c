#include "replay_plain.h"

size_t vs_replay_plain_many = 4096;

static int tell_before(const struct vs_replay *replay, const struct vs_record *record)
{
	return vs_replay_items_tell_before(replay, record);
}

static int tell(const struct vs_replay *replay, struct vs_item *block,
		const struct vs_record *record, bool is_birth)
{
	const struct vs_listeners *listeners = &replay->on_block;
	uint32_t i;
	int err = 0;

	(void)is_birth;
	for (i = 0; i < listeners->nr && !err; i++)
		err = listeners->observers[i]->on_block(listeners->observers[i], replay, block,
							record);
	return err ? err : 1;
}

static const struct vs_replay_plain_told listeners_told = {tell_before, tell, false, NULL};

int vs_replay_plain_add(struct vs_replay *replay, const struct vs_record *record)
{
	if (!vs_replay_plain_is_possible(replay))
		return 0;
	return vs_replay_plain_take(replay, record, NULL, &listeners_told);
}

int vs_replay_plain_add_some(struct vs_replay *replay, const struct vs_record *records,
			     uint32_t first, uint32_t nr)
{
	return vs_replay_plain_run(replay, records, first, nr, &listeners_told);
}

static int tell_nobody_before(const struct vs_replay *replay, const struct vs_record *record)
{
	(void)replay;
	(void)record;
	return 0;
}

static int tell_nobody(const struct vs_replay *replay, struct vs_item *block,
		       const struct vs_record *record, bool is_birth)
{
	(void)replay;
	(void)block;
	(void)record;
	(void)is_birth;
	return 1;
}

int vs_replay_plain_add_unseen(struct vs_replay *replay, const struct vs_record *records,
			       uint32_t first, uint32_t nr)
{
	static const struct vs_replay_plain_told told = {tell_nobody_before, tell_nobody, true,
							 NULL};

	return vs_replay_plain_run(replay, records, first, nr, &told);
}

void vs_replay_plain_settle(struct vs_replay *replay)
{
	uint32_t i;

	for (i = 0; i < replay->nr_vacant; i++) {
		struct vs_item *item = replay->vacant[i];
		uint8_t vacancy = item->vacancy;

		item->vacancy = 0;
		if (vacancy & VS_VACANCY_EMPTY)
			vs_replay_plain_take_out(replay, item, &replay->regions_at,
						 &replay->regions);
		if (vacancy & VS_VACANCY_FORGOTTEN)
			vs_replay_items_put_back(replay, item);
	}
	replay->nr_vacant = 0;
}
