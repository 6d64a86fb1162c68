/*
 * libcudnn: the graph API (cudnnBackend...). A descriptor keeps what is set on it. What the library
 * would find out (an engine, a plan, a workspace) is answered the same for every graph: there is
 * one engine, it can do everything, and its workspace is what SOFTGPU_CUDNN_WORKSPACE says.
 */
#include <stdint.h>
#include <string.h>

#include "dnn.h"
#include "math_attributes.h"
#include "math_call.h"

#define KIND_BACKEND SG_MATH_FIRST_OWN

/* cudnnBackendAttributeType_t */
#define TYPE_BOOLEAN    2
#define TYPE_INT64      3
#define TYPE_FLOAT      4
#define TYPE_DOUBLE     5
#define TYPE_VOID_PTR   6
#define TYPE_HANDLE     0
#define TYPE_DESCRIPTOR 15
#define TYPE_CHAR       24
#define TYPE_FRACTION   26

/* cudnnBackendAttributeName_t */
#define HEURISTIC_GRAPH   201
#define HEURISTIC_RESULTS 202
#define CONFIG_ENGINE     300
#define CONFIG_WORKSPACE  303
#define CONFIG_SHARED     304
#define PLAN_WORKSPACE    402
#define PLAN_JSON         405
#define GRAPH_NR_ENGINES  802
#define ENGINE_GRAPH      1300
#define ENGINE_INDEX      1301
#define CACHE_JSON        2402
#define DEVICE_JSON       2702

struct backend {
	int type; /* cudnnBackendDescriptorType_t */
	int is_final;
	struct sg_math_attributes attributes;
};

static size_t element_size(int type)
{
	switch (type) {
	case TYPE_BOOLEAN:
	case TYPE_CHAR:
		return 1;
	case TYPE_INT64:
	case TYPE_DOUBLE:
	case TYPE_VOID_PTR:
	case TYPE_HANDLE:
	case TYPE_DESCRIPTOR:
		return 8;
	case TYPE_FRACTION:
		return 16;
	default:
		return 4; /* float, int32 and the enumerations */
	}
}

static struct backend *get(const void *handle)
{
	return sg_math_object_get(KIND_BACKEND, handle);
}

SG_MATH_API(int, cudnnBackendCreateDescriptor, int type, void **handle)
{
	struct backend *backend;

	if (!handle || type < 0)
		return sg_dnn_bad_param();
	backend = sg_math_object_create(KIND_BACKEND, sizeof(*backend));
	if (!backend)
		return sg_dnn_alloc_failed();
	backend->type = type;
	*handle = backend;
	return 0;
}

SG_MATH_API(int, cudnnBackendDestroyDescriptor, void *handle)
{
	struct backend *backend = get(handle);

	if (!backend)
		return handle ? sg_dnn_bad_param() : 0;
	sg_math_attributes_clear(&backend->attributes);
	sg_math_object_destroy(KIND_BACKEND, handle);
	return 0;
}

SG_MATH_API(int, cudnnBackendInitialize, void *handle)
{
	return get(handle) ? 0 : sg_dnn_bad_param();
}

SG_MATH_API(int, cudnnBackendFinalize, void *handle)
{
	struct backend *backend = get(handle);

	if (!backend)
		return sg_dnn_bad_param();
	backend->is_final = 1;
	return 0;
}

SG_MATH_API(int, cudnnBackendSetAttribute, void *handle, int name, int type, int64_t count,
	    const void *elements)
{
	struct backend *backend = get(handle);

	if (!backend || count < 0 || (count > 0 && !elements))
		return sg_dnn_bad_param();
	if (sg_math_attributes_set(&backend->attributes, name, type, count, elements,
				   (size_t)count * element_size(type)) != 0)
		return sg_dnn_alloc_failed();
	return 0;
}

/* The program passes a descriptor it made; it becomes the one that is asked for. */
static int fill_descriptor(void *const *place, const struct backend *from)
{
	struct backend *to = get(*place);

	if (!to || to == from)
		return to ? 0 : sg_dnn_bad_param();
	to->is_final = 1;
	if (from && sg_math_attributes_copy(&to->attributes, &from->attributes) != 0)
		return sg_dnn_alloc_failed();
	return 0;
}

static int put_kept(const struct sg_math_attribute *attribute, int64_t requested, int64_t *count,
		    void *elements)
{
	int64_t nr = attribute->count < requested ? attribute->count : requested;
	void *const *wanted = elements;
	int err = 0;

	if (count)
		*count = attribute->count;
	if (!elements || nr < 1)
		return 0;
	if (attribute->type != TYPE_DESCRIPTOR) {
		memcpy(elements, attribute->bytes, (size_t)nr * element_size(attribute->type));
		return 0;
	}
	for (int64_t i = 0; i < nr && !err; i++)
		err = fill_descriptor(&wanted[i], get(((void *const *)attribute->bytes)[i]));
	return err;
}

/* One configuration, of engine 0, for the graph the heuristic was asked about. */
static int put_result(const struct backend *heuristic, int64_t requested, int64_t *count,
		      void *const *elements)
{
	const struct sg_math_attribute *graph =
		sg_math_attributes_get(&heuristic->attributes, HEURISTIC_GRAPH);
	struct backend *config;
	void *engine;
	int err;

	if (count)
		*count = 1;
	if (!elements || requested < 1)
		return 0;
	config = get(elements[0]);
	if (!config)
		return sg_dnn_bad_param();
	if (!graph)
		return 0;
	/* Kept as an attribute of the configuration; the program never sees this one. */
	engine = graph->bytes;
	config->is_final = 1;
	err = sg_math_attributes_set(&config->attributes, ENGINE_GRAPH, TYPE_DESCRIPTOR, 1, engine,
				     sizeof(void *));
	return err ? sg_dnn_alloc_failed() : 0;
}

/* An engine asked of a configuration: it knows its graph and its number. */
static int put_engine(const struct backend *config, int64_t requested, int64_t *count,
		      void *const *elements)
{
	const struct sg_math_attribute *graph =
		sg_math_attributes_get(&config->attributes, ENGINE_GRAPH);
	struct backend *engine;
	int err = 0;

	if (count)
		*count = 1;
	if (!elements || requested < 1)
		return 0;
	engine = get(elements[0]);
	if (!engine)
		return sg_dnn_bad_param();
	engine->is_final = 1;
	if (graph)
		err = sg_math_attributes_set(&engine->attributes, ENGINE_GRAPH, TYPE_DESCRIPTOR, 1,
					     graph->bytes, sizeof(void *));
	return err ? sg_dnn_alloc_failed() : 0;
}

static int put_number(int64_t value, int type, int64_t requested, int64_t *count, void *elements)
{
	size_t size = element_size(type);

	if (count)
		*count = 1;
	if (elements && requested > 0)
		memcpy(elements, &value, size < sizeof(value) ? size : sizeof(value));
	return 0;
}

static int put_text(const char *text, int64_t requested, int64_t *count, char *elements)
{
	int64_t size = (int64_t)strlen(text) + 1;

	if (count)
		*count = size;
	if (elements && requested > 0)
		memcpy(elements, text, (size_t)(size < requested ? size : requested));
	return 0;
}

SG_MATH_API(int, cudnnBackendGetAttribute, const void *handle, int name, int type,
	    int64_t requested, int64_t *count, void *elements)
{
	const struct backend *backend = get(handle);
	const struct sg_math_attribute *attribute;

	if (!backend || requested < 0)
		return sg_dnn_bad_param();
	attribute = sg_math_attributes_get(&backend->attributes, name);
	if (attribute)
		return attribute->type == type ? put_kept(attribute, requested, count, elements)
					       : sg_dnn_bad_param();
	switch (name) {
	case HEURISTIC_RESULTS:
		return put_result(backend, requested, count, elements);
	case CONFIG_ENGINE:
		return put_engine(backend, requested, count, elements);
	case CONFIG_WORKSPACE:
	case PLAN_WORKSPACE:
		return put_number((int64_t)sg_dnn_workspace(), type, requested, count, elements);
	case GRAPH_NR_ENGINES:
		return put_number(1, type, requested, count, elements);
	case ENGINE_INDEX:
	case CONFIG_SHARED:
		return put_number(0, type, requested, count, elements);
	case PLAN_JSON:
	case CACHE_JSON:
	case DEVICE_JSON:
		return put_text("{}", requested, count, elements);
	default:
		break;
	}
	/* Notes, knobs, intermediate results: there are none. */
	if (count)
		*count = 0;
	return 0;
}

SG_MATH_API(int, cudnnBackendExecute, void *handle, const void *plan, const void *pack)
{
	if (sg_math_call_check(handle) != 0 || !get(plan) || !get(pack))
		return sg_dnn_bad_param();
	return 0;
}
