#ifndef VS_NVTX_H
#define VS_NVTX_H

#include <stdint.h>
#include <wchar.h>

/*
 * What NVTX tells: ranges and marks of all modules of the program, each of which has its own
 * instance of NVTX. Layouts and numbers are those of the public nvtx3 headers. Any thread; nothing
 * here fails, waits or changes errno.
 *
 * Push and pop are phases of the thread; start and end, which may be on two threads, are ranges.
 */

/* nvtxDomainRegistration: opaque to programs. */
struct vs_nvtx_domain;

enum vs_nvtx_message_type {
	VS_NVTX_NO_MESSAGE,
	VS_NVTX_ASCII,
	VS_NVTX_UNICODE,
	VS_NVTX_REGISTERED,
};

/* nvtxEventAttributes_t, version 2, which version 3 has as well. */
struct vs_nvtx_attributes {
	uint16_t version;
	uint16_t size; /* bytes that there are of it */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

/* domain: NULL is the default one. */
uint32_t vs_nvtx_name(const struct vs_nvtx_domain *domain,
		      const struct vs_nvtx_attributes *attributes);
uint32_t vs_nvtx_name_ascii(const char *message);
uint32_t vs_nvtx_name_wide(const wchar_t *message);

/* The level of the range that begins or ends, from 0 on; -1: none is open. */
int vs_nvtx_push(const struct vs_nvtx_domain *domain, uint32_t name);
int vs_nvtx_pop(const struct vs_nvtx_domain *domain);

uint64_t vs_nvtx_start(uint32_t name);
void vs_nvtx_end(uint64_t id);
void vs_nvtx_mark(uint32_t name);

/* The domain of that name. */
struct vs_nvtx_domain *vs_nvtx_get_domain(const char *name);

/* How many of the calls above the calling thread has made. */
uint64_t vs_nvtx_get_nr_calls(void);

#endif
