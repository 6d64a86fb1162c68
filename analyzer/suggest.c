#include "suggest.h"

#include <stdint.h>
#include <string.h>

#define MAX_WORD 63

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment, three rows of the table at a time. */
size_t vs_suggest_distance(const char *a, const char *b)
{
	size_t rows[3][MAX_WORD + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2], *spare;
	size_t a_size = strlen(a), b_size = strlen(b), i, j;

	if (a_size > MAX_WORD || b_size > MAX_WORD)
		return SIZE_MAX;
	for (j = 0; j <= b_size; j++)
		last[j] = j;
	for (i = 1; i <= a_size; i++) {
		now[0] = i;
		for (j = 1; j <= b_size; j++) {
			now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = smaller(now[j], smaller(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = smaller(now[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[b_size];
}

int vs_suggest_is_slip(const char *word, const char *known)
{
	size_t size = strlen(known), distance;

	if (!*word)
		return 0;
	/* "heat" for heatmap, "fragmentation" for frag. */
	if (strlen(word) >= 3 &&
	    (!strncmp(word, known, strlen(word)) || !strncmp(word, known, size)))
		return 1;
	distance = vs_suggest_distance(word, known);
	return distance <= (size <= 4 ? 1u : 2u);
}
