#include "event_loops.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "caching_pool.h"

#define NR_BEFORE 40000 /* events until it is in full swing */

const char *const vs_event_loops_names[VS_NR_EVENT_LOOPS] = {
	"training", "training, any time", "training, any size", "random", "random, best fit",
};

/* ---- Chance ------------------------------------------------------------------------------- */

static uint64_t chance;

/* splitmix64 */
static uint64_t draw(void)
{
	uint64_t z = chance += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t draw_below(uint32_t limit)
{
	return (uint32_t)(draw() % limit);
}

/* From 0 to below 1. */
static double draw_part(void)
{
	return (double)(draw() >> 11) / 9007199254740992.0;
}

/* Normal, nearly. */
static double draw_normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += draw_part();
	return sum;
}

/* ---- Events and their times
 * ------------------------------------------------------------ */

static struct {
	struct vs_record *events;
	uint32_t nr, max;
	uint32_t nr_before; /* still to come before the first that counts */
	uint64_t now_ns;
	bool has_any_time;
} out;

static bool is_done(void)
{
	return out.nr == out.max;
}

/* us: usual time before the next event. */
static void pass(double us)
{
	us = out.has_any_time ? 1 + 49 * draw_part() : us * exp(0.25 * draw_normal());
	if (draw_below(200) == 0)
		us -= 500 * log(1 - draw_part()); /* the system had something else to do */
	out.now_ns += (uint64_t)(us * 1000);
}

static struct vs_record *add_event(enum vs_record_type type, uint32_t thread)
{
	static struct vs_record nothing;
	struct vs_record *event;

	if (out.nr_before || is_done()) {
		out.nr_before -= out.nr_before > 0;
		return &nothing;
	}
	event = &out.events[out.nr++];
	memset(event, 0, sizeof(*event));
	event->type = type;
	event->time_ns = out.now_ns;
	event->thread = thread;
	return event;
}

/* ---- What a program holds
 * -------------------------------------------------------------- */

#define MAIN     1
#define AUTOGRAD 2
#define LOADER   3

static void add_segment(uint64_t address, uint64_t size)
{
	add_event(VS_RECORD_ALLOC, MAIN)->alloc = (struct vs_alloc){
		.address = address,
		.size = size,
		.context = 1,
		.stack = 3,
		.api = 2,
	};
}

static void add_block(uint64_t address, uint64_t size, uint32_t stack, uint32_t thread)
{
	add_event(VS_RECORD_BLOCK_ALLOC, thread)->block_alloc = (struct vs_block_alloc){
		.pool = 1, .address = address, .size = size, .stack = stack};
}

static void add_free(uint64_t address, uint32_t stack, uint32_t thread)
{
	add_event(VS_RECORD_BLOCK_FREE, thread)->block_free =
		(struct vs_block_free){.pool = 1, .address = address, .stack = stack};
}

static struct vs_caching_pool_block take(uint64_t size, uint32_t stack, uint32_t thread, double us)
{
	struct vs_caching_pool_block block;

	pass(us);
	block = vs_caching_pool_take(size);
	add_block(block.address, block.size, stack, thread);
	return block;
}

static void give_back(struct vs_caching_pool_block *block, uint32_t stack, uint32_t thread,
		      double us)
{
	pass(us);
	add_free(block->address, stack, thread);
	vs_caching_pool_give_back(block);
	block->size = 0;
}

/* ---- Training ----------------------------------------------------------------------------- */

#define NR_LAYERS 24
#define NR_OPS    11 /* of a layer */
#define NR_PARAMS 6

struct op {
	uint64_t size;
	/* Forward; then its free, backward, and that one's free have the next three. */
	uint32_t stack;
	bool is_saved; /* for the way back */
	double us[4];
};

static struct op ops[NR_LAYERS][NR_OPS];
static uint64_t param_sizes[NR_LAYERS][NR_PARAMS];
static struct vs_caching_pool_block saved[NR_LAYERS][NR_OPS], grads[NR_LAYERS][NR_PARAMS];
static uint64_t pinned[4];
static uint32_t nr_pinned;

static struct op make_op(uint32_t number)
{
	struct op op = {
		.size = 512ull << draw_below(14),
		.stack = 100 + number * 4,
		.is_saved = draw_below(5) < 3,
	};

	op.size += op.size / 8 * draw_below(8);
	for (int i = 0; i < 4; i++)
		op.us[i] = exp(log(50) * draw_part());
	return op;
}

/* Two layers each are the same lines of the program. */
static void make_model(void)
{
	for (uint32_t layer = 0; layer < NR_LAYERS; layer++) {
		for (uint32_t i = 0; i < NR_OPS; i++)
			ops[layer][i] = layer % 2 ? ops[layer - 1][i] : make_op(layer * NR_OPS + i);
		for (uint32_t i = 0; i < NR_PARAMS; i++)
			param_sizes[layer][i] =
				layer % 2 ? param_sizes[layer - 1][i] : 1024ull << draw_below(12);
	}
}

/* The next batch, when it happens to be ready. */
static void load_data(void)
{
	if (draw_below(150))
		return;
	pass(5);
	if (nr_pinned < 4) {
		pinned[nr_pinned] = 0x7f0000000000 + ((uint64_t)draw_below(16) << 22);
		add_event(VS_RECORD_ALLOC, LOADER)->alloc = (struct vs_alloc){
			.kind = VS_MEMORY_PINNED,
			.device = VS_NO_DEVICE,
			.address = pinned[nr_pinned++],
			.size = 3 << 20,
			.stack = 5,
			.api = 4,
		};
		return;
	}
	add_event(VS_RECORD_FREE, LOADER)->free = (struct vs_free){
		.kind = VS_MEMORY_PINNED, .address = pinned[0], .stack = 6, .api = 5};
	memmove(&pinned[0], &pinned[1], --nr_pinned * sizeof(pinned[0]));
}

static void begin_phase(uint32_t name)
{
	pass(2);
	add_event(VS_RECORD_PHASE_PUSH, MAIN)->phase_push.name = name;
}

static void end_phase(void)
{
	pass(2);
	add_event(VS_RECORD_PHASE_POP, MAIN);
}

static void take_temporary(void)
{
	struct vs_caching_pool_block extra = take(4096, 20 + draw_below(8), MAIN, 3);

	give_back(&extra, 30, MAIN, 1);
}

/* length: 64 is the usual one. */
static void run_forward(bool is_evaluation, uint32_t length)
{
	struct vs_caching_pool_block last = {0};

	begin_phase(10);
	for (uint32_t layer = 0; layer < NR_LAYERS; layer++)
		for (uint32_t i = 0; i < NR_OPS; i++) {
			const struct op *op = &ops[layer][i];

			saved[layer][i] = take(op->size * length / 64, op->stack, MAIN, op->us[0]);
			if (draw_below(400) == 0)
				take_temporary();
			if (last.size)
				give_back(&last, op->stack + 1, MAIN, op->us[1]);
			if (is_evaluation || !op->is_saved)
				last = saved[layer][i];
			load_data();
		}
	if (last.size)
		give_back(&last, 31, MAIN, 2);
	end_phase();
}

static void run_backward(bool makes_grads, uint32_t length)
{
	struct vs_caching_pool_block flow = take(64 * length, 40, AUTOGRAD, 20);

	begin_phase(11);
	for (uint32_t layer = NR_LAYERS; layer-- > 0;)
		for (uint32_t i = NR_OPS; i-- > 0;) {
			const struct op *op = &ops[layer][i];
			struct vs_caching_pool_block next =
				take(op->size * length / 64, op->stack + 2, AUTOGRAD, op->us[2]);

			give_back(&flow, op->stack + 3, AUTOGRAD, op->us[3]);
			flow = next;
			if (op->is_saved)
				give_back(&saved[layer][i], op->stack + 3, AUTOGRAD, 2);
			if (makes_grads && i < NR_PARAMS)
				grads[layer][i] = take(param_sizes[layer][i], 50 + i, AUTOGRAD, 4);
			load_data();
		}
	give_back(&flow, 41, AUTOGRAD, 3);
	end_phase();
}

static void run_optimizer(void)
{
	begin_phase(12);
	for (uint32_t layer = 0; layer < NR_LAYERS; layer++)
		for (uint32_t i = 0; i < NR_PARAMS; i++) {
			struct vs_caching_pool_block update, root;

			update = take(param_sizes[layer][i], 60, MAIN, 6);
			root = take(param_sizes[layer][i], 61, MAIN, 3);
			give_back(&update, 62, MAIN, 2);
			give_back(&root, 63, MAIN, 2);
		}
	for (uint32_t layer = 0; layer < NR_LAYERS; layer++)
		for (uint32_t i = 0; i < NR_PARAMS; i++)
			give_back(&grads[layer][i], 64, MAIN, 1.5);
	end_phase();
}

/* Keeps a bit of it, as people do by mistake. */
static void log_metrics(void)
{
	struct vs_caching_pool_block temporary[5];

	for (uint32_t i = 0; i < 5; i++)
		temporary[i] = take(512, 70 + i, MAIN, 8);
	for (uint32_t i = 0; i < 5; i++)
		give_back(&temporary[i], 80, MAIN, 2);
	take(512, 90, MAIN, 4);
}

static void run_training(bool has_any_size)
{
	nr_pinned = 0;
	make_model();
	for (uint64_t step = 0; !is_done(); step++) {
		uint32_t length = has_any_size ? 40 + draw_below(48) : 64;

		add_event(VS_RECORD_STEP, MAIN)->step.number = step;
		run_forward(false, length);
		run_backward(step % 2 == 0, length);
		if (step % 2)
			run_optimizer();
		if (step % 10 == 9)
			log_metrics();
		if (step % 50 == 49)
			run_forward(true, length);
	}
}

/* ---- Random ------------------------------------------------------------------------------- */

#define NR_SIZES  2000
#define NR_STACKS 300
#define NR_LIVE   2000

static struct {
	uint64_t size;
	uint64_t freed[64]; /* addresses; more than there ever are */
	uint32_t nr_freed;
} classes[NR_SIZES];

struct object {
	struct vs_caching_pool_block block;
	uint32_t class;
};

static void make_classes(void)
{
	for (uint32_t i = 0; i < NR_SIZES; i++) {
		classes[i].size = 512ull * (1 + i + (uint64_t)exp(log(16384) * i / NR_SIZES));
		classes[i].nr_freed = 0;
	}
}

static void take_any(struct object *object, bool is_best_fit)
{
	static uint64_t next_address = 0x7f4000000000;
	uint32_t stack = 1 + draw_below(NR_STACKS);

	object->class = draw_below(NR_SIZES);
	object->block.size = classes[object->class].size;
	if (is_best_fit) {
		object->block = take(object->block.size, stack, MAIN, 0);
		return;
	}
	pass(0);
	if (classes[object->class].nr_freed) {
		object->block.address =
			classes[object->class].freed[--classes[object->class].nr_freed];
	} else {
		object->block.address = next_address;
		next_address += object->block.size;
	}
	add_block(object->block.address, object->block.size, stack, MAIN);
}

static void give_back_any(struct object *object, bool is_best_fit)
{
	uint32_t stack = 1 + NR_STACKS + draw_below(NR_STACKS);

	if (is_best_fit) {
		give_back(&object->block, stack, MAIN, 0);
		return;
	}
	pass(0);
	add_free(object->block.address, stack, MAIN);
	classes[object->class].freed[classes[object->class].nr_freed++] = object->block.address;
}

static void run_random(bool is_best_fit)
{
	static struct object live[2 * NR_LIVE];
	uint32_t nr_live = 0;

	make_classes();
	while (!is_done()) {
		uint32_t victim = nr_live ? draw_below(nr_live) : 0;

		if (draw_below(2 * NR_LIVE) >= nr_live) {
			take_any(&live[nr_live++], is_best_fit);
		} else {
			give_back_any(&live[victim], is_best_fit);
			live[victim] = live[--nr_live];
		}
	}
}

void vs_event_loops_fill(enum vs_event_loop loop, struct vs_record *events, uint32_t nr)
{
	chance = 1 + loop;
	out.events = events;
	out.nr = 0;
	out.max = nr;
	out.nr_before = NR_BEFORE;
	out.now_ns = 1000000000;
	out.has_any_time = loop == VS_EVENT_LOOP_TRAINING_ANY_TIME || loop >= VS_EVENT_LOOP_RANDOM;
	vs_caching_pool_reset(0x7f2000000000, add_segment);
	if (loop >= VS_EVENT_LOOP_RANDOM)
		run_random(loop == VS_EVENT_LOOP_RANDOM_BEST_FIT);
	else
		run_training(loop == VS_EVENT_LOOP_TRAINING_ANY_SIZE);
}
