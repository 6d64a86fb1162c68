#ifndef VS_PICTURE_RECORDS_H
#define VS_PICTURE_RECORDS_H

/* Records made by hand, short to write. Text and all else must outlive the record. */
#include "record.h"

#define PICTURE_THREAD 1

struct vs_record picture_device(uint32_t ordinal, uint64_t total);
struct vs_record picture_name(uint32_t id, const char *text);
struct vs_record picture_pool(uint32_t id, uint32_t device, const char *name);
struct vs_record picture_alloc(uint64_t time_ns, enum vs_memory_kind kind, uint32_t device,
			       uint64_t address, uint64_t size);
struct vs_record picture_free(uint64_t time_ns, enum vs_memory_kind kind, uint64_t address);
struct vs_record picture_free_failed(uint64_t time_ns, enum vs_memory_kind kind, uint64_t address);
struct vs_record picture_alloc_failed(uint64_t time_ns, uint32_t device, uint64_t size);
struct vs_record picture_reserve(uint64_t time_ns, uint64_t address, uint64_t size);
struct vs_record picture_map(uint64_t time_ns, uint64_t address, uint64_t size, uint64_t handle);
struct vs_record picture_unmap(uint64_t time_ns, uint64_t address, uint64_t size);
struct vs_record picture_block(uint64_t time_ns, uint32_t pool, uint64_t address, uint64_t size);
struct vs_record picture_block_free(uint64_t time_ns, uint32_t pool, uint64_t address);
struct vs_record picture_block_failed(uint64_t time_ns, uint32_t pool, uint64_t size);
struct vs_record picture_step(uint64_t time_ns, uint64_t number);
struct vs_record picture_push(uint64_t time_ns, uint32_t name);
struct vs_record picture_pop(uint64_t time_ns);

#endif
