#include "nvtx.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "guard.h"
#include "lifecycle.h"
#include "message.h"
#include "names.h"
#include "nvtx_text.h"
#include "recorder.h"

/* Programs that name every operator must leave room for the names of functions and phases. */
#define NR_NAMES (VS_NAMES_MAX / 4 * 3)

#define OTHER_NAME   "other ranges"
#define OTHER_DOMAIN "other domains"

#define NR_DOMAINS 32u

/* Sources of phases: vramscope.h is 0. */
#define SOURCE_DEFAULT 1u
#define SOURCE_FIRST   2u

_Static_assert(VS_PHASE_SOURCE_HEADER < SOURCE_DEFAULT, "sources must differ");

enum domain_state {
	DOMAIN_FREE,
	DOMAIN_BUSY, /* somebody writes its name */
	DOMAIN_READY,
};

struct vs_nvtx_domain {
	_Atomic int state;
	char name[VS_NAMES_TEXT_MAX / 2];
};

/* Never given back. The last one is all that found no place. */
static struct vs_nvtx_domain domains[NR_DOMAINS];

/* Initial-exec, as thread.c has it. */
static __thread uint32_t depths[SOURCE_FIRST + NR_DOMAINS]
	__attribute__((tls_model("initial-exec")));
static __thread uint64_t nr_calls __attribute__((tls_model("initial-exec")));

#define ENTER()     vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0))
#define LEAVE(self) vs_guard_leave((self), VS_GUARD_POOL)

/* ---- Names ----------------------------------------------------------------------------------- */

/* The number of a text; once there are too many, they all get the same. */
static uint32_t get_name(struct vs_nvtx_text *text)
{
	static atomic_flag is_told = ATOMIC_FLAG_INIT;
	uint32_t name;

	if (!vs_lifecycle_is_begun())
		vs_lifecycle_begin();
	if (!vs_lifecycle_is_recording())
		return VS_NO_ID;
	name = vs_names_get_below(vs_nvtx_text_end(text), NR_NAMES);
	if (name != VS_NO_ID)
		return name;
	if (!atomic_flag_test_and_set(&is_told))
		vs_message_post("NVTX has too many names: further ones are recorded as '" OTHER_NAME
				"'",
				NULL);
	return vs_names_get(OTHER_NAME);
}

uint32_t vs_nvtx_name_ascii(const char *message)
{
	struct vs_nvtx_text text;

	vs_nvtx_text_begin(&text, NULL);
	vs_nvtx_text_add(&text, message);
	return get_name(&text);
}

uint32_t vs_nvtx_name_wide(const wchar_t *message)
{
	struct vs_nvtx_text text;

	vs_nvtx_text_begin(&text, NULL);
	vs_nvtx_text_add_wide(&text, message);
	return get_name(&text);
}

/* Older programs may have less of it than we know. */
static bool has_message(const struct vs_nvtx_attributes *attributes)
{
	return attributes && attributes->size >= offsetof(struct vs_nvtx_attributes, message) +
							 sizeof(attributes->message);
}

uint32_t vs_nvtx_name(const struct vs_nvtx_domain *domain,
		      const struct vs_nvtx_attributes *attributes)
{
	int32_t type = has_message(attributes) ? attributes->message_type : VS_NVTX_NO_MESSAGE;
	uintptr_t registered = 0;
	struct vs_nvtx_text text;

	/* A registered string is the number of its name, domain and all. */
	if (type == VS_NVTX_REGISTERED)
		registered = (uintptr_t)attributes->message.registered;
	if (registered && registered <= UINT32_MAX && vs_names_is_given((uint32_t)registered))
		return (uint32_t)registered;
	vs_nvtx_text_begin(&text, domain ? domain->name : NULL);
	if (type == VS_NVTX_ASCII)
		vs_nvtx_text_add(&text, attributes->message.ascii);
	else if (type == VS_NVTX_UNICODE)
		vs_nvtx_text_add_wide(&text, attributes->message.unicode);
	return get_name(&text);
}

/* ---- Domains --------------------------------------------------------------------------------- */

/* Takes a free place; false: it is somebody else's. */
static bool take_domain(struct vs_nvtx_domain *domain, const char *name)
{
	int state = DOMAIN_FREE;

	if (!atomic_compare_exchange_strong_explicit(&domain->state, &state, DOMAIN_BUSY,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	strncpy(domain->name, name, sizeof(domain->name) - 1);
	atomic_store_explicit(&domain->state, DOMAIN_READY, memory_order_release);
	return true;
}

/* Two threads that ask for the same new name at once get two domains, which is as good. */
struct vs_nvtx_domain *vs_nvtx_get_domain(const char *name)
{
	struct vs_nvtx_domain *last = &domains[NR_DOMAINS - 1];

	for (struct vs_nvtx_domain *domain = domains; domain < last; domain++) {
		int state = atomic_load_explicit(&domain->state, memory_order_acquire);

		if (state == DOMAIN_READY && !strncmp(domain->name, name, sizeof(domain->name) - 1))
			return domain;
		if (state == DOMAIN_FREE && take_domain(domain, name))
			return domain;
	}
	take_domain(last, OTHER_DOMAIN);
	return last;
}

/* A handle may be anything: of a domain that another library gave out. */
static uint32_t get_source(const struct vs_nvtx_domain *domain)
{
	if (domain < domains || domain >= domains + NR_DOMAINS)
		return SOURCE_DEFAULT;
	return SOURCE_FIRST + (uint32_t)(domain - domains);
}

/* ---- Ranges and marks ------------------------------------------------------------------------ */

int vs_nvtx_push(const struct vs_nvtx_domain *domain, uint32_t name)
{
	uint32_t source = get_source(domain);
	struct vs_thread *self = ENTER();

	nr_calls++;
	if (self) {
		vs_recorder_push_phase(self, source, name);
		LEAVE(self);
	}
	return (int)depths[source]++;
}

int vs_nvtx_pop(const struct vs_nvtx_domain *domain)
{
	uint32_t source = get_source(domain);
	struct vs_thread *self;

	nr_calls++;
	if (!depths[source])
		return -1;
	self = ENTER();
	if (self) {
		vs_recorder_pop_phase(self, source);
		LEAVE(self);
	}
	return (int)--depths[source];
}

uint64_t vs_nvtx_start(uint32_t name)
{
	struct vs_thread *self = ENTER();
	uint64_t id = 0;

	nr_calls++;
	if (self) {
		id = vs_recorder_start_range(self, name);
		LEAVE(self);
	}
	return id;
}

void vs_nvtx_end(uint64_t id)
{
	struct vs_thread *self = id ? ENTER() : NULL;

	nr_calls++;
	if (!self)
		return;
	vs_recorder_end_range(self, id);
	LEAVE(self);
}

void vs_nvtx_mark(uint32_t name)
{
	struct vs_thread *self = ENTER();

	nr_calls++;
	if (!self)
		return;
	vs_recorder_add_mark(self, name);
	LEAVE(self);
}

uint64_t vs_nvtx_get_nr_calls(void)
{
	return nr_calls;
}
