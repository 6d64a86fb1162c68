#include "columns_predict.h"

#include <string.h>

/* What a thread without events has behind it. */
#define NO_SITES 0xffffffffffff

void vs_columns_predict_begin(struct vs_columns_predict *predict)
{
	/* 0 is what memory holds that no block has used yet. */
	if (++predict->generation == 0) {
		memset(predict->contexts, 0, sizeof(predict->contexts));
		memset(predict->places, 0, sizeof(predict->places));
		predict->generation = 1;
	}
	predict->nr_threads = 0;
	predict->nr_sites = 0;
	predict->nr_sizes = 0;
	predict->nr_allocs = 0;
	memset(predict->nr_in_class, 0, sizeof(predict->nr_in_class));
	memset(predict->newest_site, 0xff, sizeof(predict->newest_site)); /* NONE */
	predict->last_site = VS_COLUMNS_NONE;
	predict->ranked[0] = predict->ranked[1] = 0;
	predict->live[0] = (struct vs_columns_live){0};
}

uint32_t vs_columns_predict_add_thread(struct vs_columns_predict *predict, uint32_t id)
{
	predict->threads[predict->nr_threads] = (struct vs_columns_thread){
		.id = id,
		.number = (uint16_t)predict->nr_threads,
		.sites = NO_SITES,
		.context = (uint16_t)vs_columns_predict_hash(NO_SITES, VS_COLUMNS_CONTEXT_BITS),
	};
	return predict->nr_threads++;
}

uint32_t vs_columns_predict_add_size(struct vs_columns_predict *predict, uint64_t value)
{
	predict->sizes[predict->nr_sizes] = (struct vs_columns_size){
		.value = value,
	};
	return predict->nr_sizes++;
}

uint32_t vs_columns_predict_add_site(struct vs_columns_predict *predict,
				     const struct vs_columns_thread *thread,
				     const struct vs_columns_site *site)
{
	struct vs_columns_site *added = &predict->sites[predict->nr_sites];

	*added = *site;
	added->class = (uint8_t)vs_columns_layout_get_class(site->type);
	added->class_index = (uint16_t)predict->nr_in_class[added->class]++;
	added->has_size = false;
	added->mean = 0;
	/* Until it is known better, the same thread goes on. */
	added->next_thread = (uint16_t)(thread - predict->threads);
	predict->newest_site[site->type] = predict->nr_sites;
	memset(predict->rows[predict->nr_sites], 0, sizeof(predict->rows[0]));
	return predict->nr_sites++;
}
