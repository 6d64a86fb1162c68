/*
 * Where NVTX finds its tool: each module of the program that includes nvtx3 has an instance of it,
 * which loads this library again (NVTX_INJECTION64_PATH) at its first call, and calls
 * InitializeInjectionNvtx2 with the way to its tables. Layouts and numbers: the public headers
 * nvtxDetail/nvtxTypes.h and nvtxInit.h.
 */
#include <errno.h>
#include <stddef.h>

#include "lifecycle.h"
#include "nvtx.h"
#include "nvtx_text.h"

#define EXPORT __attribute__((visibility("default")))

#define TABLE_OF_CALLBACKS 1u

enum module {
	MODULE_CORE = 1,
	MODULE_CORE2 = 5,
};

typedef void (*function)(void);

struct callbacks {
	size_t struct_size;
	int (*get_functions)(int module, function ***table, unsigned int *size);
};

typedef const void *(*export_table)(uint32_t id);

EXPORT int InitializeInjectionNvtx2(export_table get_table);

/* ---- The default domain ---------------------------------------------------------------------- */

static void mark_ex(const struct vs_nvtx_attributes *attributes)
{
	vs_nvtx_mark(vs_nvtx_name(NULL, attributes));
}

static void mark_a(const char *message)
{
	vs_nvtx_mark(vs_nvtx_name_ascii(message));
}

static void mark_w(const wchar_t *message)
{
	vs_nvtx_mark(vs_nvtx_name_wide(message));
}

static uint64_t start_ex(const struct vs_nvtx_attributes *attributes)
{
	return vs_nvtx_start(vs_nvtx_name(NULL, attributes));
}

static uint64_t start_a(const char *message)
{
	return vs_nvtx_start(vs_nvtx_name_ascii(message));
}

static uint64_t start_w(const wchar_t *message)
{
	return vs_nvtx_start(vs_nvtx_name_wide(message));
}

static int push_ex(const struct vs_nvtx_attributes *attributes)
{
	return vs_nvtx_push(NULL, vs_nvtx_name(NULL, attributes));
}

static int push_a(const char *message)
{
	return vs_nvtx_push(NULL, vs_nvtx_name_ascii(message));
}

static int push_w(const wchar_t *message)
{
	return vs_nvtx_push(NULL, vs_nvtx_name_wide(message));
}

static int pop(void)
{
	return vs_nvtx_pop(NULL);
}

/* ---- Domains --------------------------------------------------------------------------------- */

static void domain_mark(const struct vs_nvtx_domain *domain,
			const struct vs_nvtx_attributes *attributes)
{
	vs_nvtx_mark(vs_nvtx_name(domain, attributes));
}

static uint64_t domain_start(const struct vs_nvtx_domain *domain,
			     const struct vs_nvtx_attributes *attributes)
{
	return vs_nvtx_start(vs_nvtx_name(domain, attributes));
}

static void domain_end(const struct vs_nvtx_domain *domain, uint64_t id)
{
	(void)domain; /* ids are unique among all */
	vs_nvtx_end(id);
}

static int domain_push(const struct vs_nvtx_domain *domain,
		       const struct vs_nvtx_attributes *attributes)
{
	return vs_nvtx_push(domain, vs_nvtx_name(domain, attributes));
}

/* A handle is the number of the name it stands for. */
static const void *register_string(const struct vs_nvtx_domain *domain,
				   const struct vs_nvtx_attributes *attributes)
{
	return (const void *)(uintptr_t)vs_nvtx_name(domain, attributes);
}

static const void *register_a(const struct vs_nvtx_domain *domain, const char *text)
{
	return register_string(
		domain, &(struct vs_nvtx_attributes){.size = sizeof(struct vs_nvtx_attributes),
						     .message_type = VS_NVTX_ASCII,
						     .message.ascii = text});
}

static const void *register_w(const struct vs_nvtx_domain *domain, const wchar_t *text)
{
	return register_string(
		domain, &(struct vs_nvtx_attributes){.size = sizeof(struct vs_nvtx_attributes),
						     .message_type = VS_NVTX_UNICODE,
						     .message.unicode = text});
}

static struct vs_nvtx_domain *create_a(const char *name)
{
	return vs_nvtx_get_domain(name ? name : "");
}

static struct vs_nvtx_domain *create_w(const wchar_t *name)
{
	struct vs_nvtx_text text;

	vs_nvtx_text_begin(&text, NULL);
	vs_nvtx_text_add_wide(&text, name);
	return vs_nvtx_get_domain(vs_nvtx_text_end(&text));
}

/* Its ranges may still be open on other threads; there are few domains, and they stay. */
static void destroy(struct vs_nvtx_domain *domain)
{
	(void)domain;
}

static void initialize(const void *reserved)
{
	(void)reserved;
}

/* ---- The tables ------------------------------------------------------------------------------ */

struct row {
	unsigned int id; /* NVTX_CBID_CORE_..., NVTX_CBID_CORE2_... */
	function own;
};

#define ROW(id, own)                  \
	{                             \
		(id), (function)(own) \
	}

static const struct row core[] = {
	ROW(1, mark_ex), ROW(2, mark_a),  ROW(3, mark_w),      ROW(4, start_ex),
	ROW(5, start_a), ROW(6, start_w), ROW(7, vs_nvtx_end), ROW(8, push_ex),
	ROW(9, push_a),  ROW(10, push_w), ROW(11, pop),        {0, NULL},
};

static const struct row core2[] = {
	ROW(1, domain_mark), ROW(2, domain_start), ROW(3, domain_end),  ROW(4, domain_push),
	ROW(5, vs_nvtx_pop), ROW(10, register_a),  ROW(11, register_w), ROW(12, create_a),
	ROW(13, create_w),   ROW(14, destroy),     ROW(15, initialize), {0, NULL},
};

/* Functions of a module that the program's header does not have yet are left out. */
static bool attach(const struct callbacks *callbacks, enum module module, const struct row *rows)
{
	function **table = NULL;
	unsigned int size = 0;

	if (!callbacks->get_functions((int)module, &table, &size) || !table)
		return false;
	for (; rows->id; rows++)
		if (rows->id < size && table[rows->id])
			*table[rows->id] = rows->own;
	return true;
}

/* 1: attached; 0: there is nothing to record, and NVTX makes its functions empty. */
int InitializeInjectionNvtx2(export_table get_table)
{
	const struct callbacks *callbacks;
	int saved = errno, is_attached = 0;

	if (!vs_lifecycle_is_begun())
		vs_lifecycle_begin();
	callbacks = vs_lifecycle_is_recording() && get_table ? get_table(TABLE_OF_CALLBACKS) : NULL;
	if (callbacks && callbacks->struct_size >= sizeof(*callbacks)) {
		is_attached = attach(callbacks, MODULE_CORE, core);
		/* Headers of long ago have no domains. */
		attach(callbacks, MODULE_CORE2, core2);
	}
	errno = saved;
	return is_attached;
}
