#include "unwind_maze.h"

#include <alloca.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROOM __attribute__((noinline))

/* No tail call behind this, and no frame is optimised away. */
#define STAY() __asm__ volatile("" : : : "memory")

/* So that memory on the stack is not optimised away. */
static void keep(void *data)
{
	__asm__ volatile("" : : "r"(data) : "memory");
}

struct way {
	uint64_t random;
	unsigned depth;
	void (*visit)(void);
	long sum;
};

typedef long (*room_function)(struct way *way, long a, long b);

static long go_on(struct way *way, long a, long b);

static uint64_t next_random(struct way *way)
{
	way->random ^= way->random << 13;
	way->random ^= way->random >> 7;
	way->random ^= way->random << 17;
	return way->random;
}

/* ---- Rooms ----------------------------------------------------------------------------------- */

static ROOM long small(struct way *way, long a, long b)
{
	long result = go_on(way, b, a);

	STAY();
	return result;
}

static ROOM long large(struct way *way, long a, long b)
{
	char room[6000];
	long result;

	keep(room);
	result = go_on(way, a + 1, b);
	keep(room);
	return result;
}

/* All registers that a function has to save are in use, bp as one of many. */
static ROOM long busy(struct way *way, long a, long b)
{
	long c = a * 3, d = b * 5, e = a ^ b, f = a + b, g = a - b;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
	g += go_on(way, c, d);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
	return a + b + c + d + e + f + g;
}

static ROOM long variable(struct way *way, long a, long b)
{
	size_t size = 16 + next_random(way) % 700;
	char room[size];
	long result;

	memset(room, 1, size);
	keep(room);
	result = go_on(way, a, b + room[size / 2]);
	keep(room);
	return result;
}

static ROOM long allocated(struct way *way, long a, long b)
{
	long result = 0;

	for (unsigned i = 0; i < 1 + next_random(way) % 3; i++) {
		/* cppcheck-suppress allocaCalled ; it is what is tried here */
		char *room = alloca(1 + next_random(way) % 100);

		keep(room);
		result += a;
	}
	result += go_on(way, b, result);
	STAY();
	return result;
}

static ROOM long aligned(struct way *way, long a, long b)
{
	_Alignas(64) char room[64];
	long result;

	keep(room);
	result = go_on(way, a, b);
	keep(room);
	return result;
}

/* Aligned and of unknown size: where it came from has to be kept in memory. */
static ROOM long aligned_variable(struct way *way, long a, long b, long c, long d, long e, long f,
				  long g)
{
	_Alignas(128) char room[128];
	char more[1 + next_random(way) % 300];
	long result;

	keep(room);
	keep(more);
	result = go_on(way, a + c, b + d) + e + f + g;
	keep(room);
	keep(more);
	return result;
}

static ROOM long on_stack(struct way *way, long a, long b)
{
	/* The seventh argument and those behind it are on the stack. */
	long result = aligned_variable(way, a, b, 1, 2, 3, 4, a ^ b);

	STAY();
	return result;
}

static ROOM long open_ended(struct way *way, int nr, ...)
{
	va_list list;
	long sum = 0, result;

	va_start(list, nr);
	for (int i = 0; i < nr; i++)
		sum += va_arg(list, long);
	result = go_on(way, sum, sum + 1);
	va_end(list);
	return result;
}

static ROOM long with_many(struct way *way, long a, long b)
{
	long result = open_ended(way, 7, a, b, 1L, 2L, 3L, 4L, 5L);

	STAY();
	return result;
}

/* Not among the frames: its caller is whoever called this. */
static ROOM long tail(struct way *way, long a, long b)
{
	if ((a ^ b) & 1)
		return small(way, b, a);
	return busy(way, a, b);
}

static ROOM long two_ways(struct way *way, long a, long b)
{
	char room[100];
	long result;

	/* Different places in one function, with other rules each. */
	if (next_random(way) & 1) {
		keep(room);
		result = go_on(way, a, 1);
	} else {
		result = go_on(way, 2, b) * 3 + a;
	}
	keep(room);
	return result;
}

struct search {
	struct way *way;
	bool is_done;
};

static int compare(const void *a, const void *b, void *argument)
{
	struct search *search = argument;

	if (!search->is_done) {
		search->is_done = true;
		search->way->sum += go_on(search->way, 1, 2);
	}
	return *(const int *)a - *(const int *)b;
}

/* Through code of libc's. */
static ROOM long sorted(struct way *way, long a, long b)
{
	struct search search = {.way = way};
	int numbers[] = {5, 2, 4, 1, 3};

	qsort_r(numbers, 5, sizeof(numbers[0]), compare, &search);
	STAY();
	return a + b + numbers[0];
}

/* Only gcc can be told so for one function; for others it is a small room more. */
#ifdef __clang__
#define WITH_FRAME_POINTER
#else
#define WITH_FRAME_POINTER __attribute__((optimize("no-omit-frame-pointer")))
#endif

static ROOM WITH_FRAME_POINTER long with_frame_pointer(struct way *way, long a, long b)
{
	long result = go_on(way, a, b);

	STAY();
	return result;
}

/* ---- The way through --------------------------------------------------------------------------
 */

static const room_function rooms[] = {
	small,    busy,      tail,    two_ways, small,     busy,   with_frame_pointer, large,
	variable, allocated, aligned, on_stack, with_many, sorted, two_ways,           tail,
};

static __attribute__((always_inline)) inline long go_on(struct way *way, long a, long b)
{
	uint64_t random = next_random(way);

	if (way->depth == 0 || random >> 32 == 7) {
		way->visit();
		return a;
	}
	way->depth--;
	if (random % 16 == 5)
		way->visit();
	return rooms[random >> 60](way, a, b);
}

void unwind_maze_run(uint64_t seed, unsigned depth, void (*visit)(void))
{
	struct way way = {.random = seed * 2 + 1, .depth = depth, .visit = visit};

	/* The first numbers depend on the seed all too plainly. */
	for (int i = 0; i < 10; i++)
		next_random(&way);
	way.sum += go_on(&way, 1, 2);
	keep(&way);
}
