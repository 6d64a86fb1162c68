/* LEVELS_ENTRY: name of the function that this build of it defines. */
#include "bench_stack_levels.h"

typedef void (*level_function)(void (*leaf)(void *argument), void *argument);

static __attribute__((noinline)) void level_0(void (*leaf)(void *argument), void *argument)
{
	leaf(argument);
	__asm__ volatile(""); /* no tail call: the frame must stay */
}

#define LEVEL(number, below, room_size)                                                    \
	static __attribute__((noinline)) void level_##number(void (*leaf)(void *argument), \
							     void *argument)               \
	{                                                                                  \
		char room[room_size];                                                      \
                                                                                           \
		__asm__ volatile("" : : "r"(room) : "memory");                             \
		level_##below(leaf, argument);                                             \
		__asm__ volatile("" : : "r"(room) : "memory");                             \
	}

LEVEL(1, 0, 24)
LEVEL(2, 1, 40)
LEVEL(3, 2, 8)
LEVEL(4, 3, 100)
LEVEL(5, 4, 16)
LEVEL(6, 5, 200)
LEVEL(7, 6, 8)
LEVEL(8, 7, 64)
LEVEL(9, 8, 32)
LEVEL(10, 9, 8)
LEVEL(11, 10, 24)
LEVEL(12, 11, 40)
LEVEL(13, 12, 8)
LEVEL(14, 13, 100)
LEVEL(15, 14, 16)
LEVEL(16, 15, 200)
LEVEL(17, 16, 8)
LEVEL(18, 17, 64)
LEVEL(19, 18, 32)
LEVEL(20, 19, 8)
LEVEL(21, 20, 24)
LEVEL(22, 21, 40)
LEVEL(23, 22, 8)
LEVEL(24, 23, 100)
LEVEL(25, 24, 16)
LEVEL(26, 25, 200)
LEVEL(27, 26, 8)
LEVEL(28, 27, 64)
LEVEL(29, 28, 32)
LEVEL(30, 29, 8)
LEVEL(31, 30, 24)
LEVEL(32, 31, 40)
LEVEL(33, 32, 8)
LEVEL(34, 33, 100)
LEVEL(35, 34, 16)
LEVEL(36, 35, 200)
LEVEL(37, 36, 8)
LEVEL(38, 37, 64)
LEVEL(39, 38, 32)
LEVEL(40, 39, 8)
LEVEL(41, 40, 24)
LEVEL(42, 41, 40)
LEVEL(43, 42, 8)
LEVEL(44, 43, 100)
LEVEL(45, 44, 16)
LEVEL(46, 45, 200)
LEVEL(47, 46, 8)
LEVEL(48, 47, 64)
LEVEL(49, 48, 32)
LEVEL(50, 49, 8)
LEVEL(51, 50, 24)
LEVEL(52, 51, 40)
LEVEL(53, 52, 8)
LEVEL(54, 53, 100)
LEVEL(55, 54, 16)
LEVEL(56, 55, 200)
LEVEL(57, 56, 8)
LEVEL(58, 57, 64)
LEVEL(59, 58, 32)

static const level_function levels[VS_BENCH_STACK_LEVELS_MAX] = {
	level_0,  level_1,  level_2,  level_3,  level_4,  level_5,  level_6,  level_7,  level_8,
	level_9,  level_10, level_11, level_12, level_13, level_14, level_15, level_16, level_17,
	level_18, level_19, level_20, level_21, level_22, level_23, level_24, level_25, level_26,
	level_27, level_28, level_29, level_30, level_31, level_32, level_33, level_34, level_35,
	level_36, level_37, level_38, level_39, level_40, level_41, level_42, level_43, level_44,
	level_45, level_46, level_47, level_48, level_49, level_50, level_51, level_52, level_53,
	level_54, level_55, level_56, level_57, level_58, level_59,
};

void LEVELS_ENTRY(unsigned depth, void (*leaf)(void *argument), void *argument)
{
	levels[depth - 1](leaf, argument);
}
