#ifndef SG_LOG_H
#define SG_LOG_H

/*
 * What softgpu says. Nothing goes to stdout, nothing is buffered, errno is kept: one write(2) per
 * line, to standard error or to SOFTGPU_LOG_FILE. Any thread may call any of these.
 */

/* Parts of SOFTGPU_LOG, a comma-separated list; any other non-empty value means "missing". */
enum sg_log_part {
	SG_LOG_MISSING = 1 << 0, /* API functions that softgpu does not have, once each */
	SG_LOG_LOOKUPS = 1 << 1, /* every cuGetProcAddress: name, version, flags */
	SG_LOG_MATH = 1 << 2,    /* functions of cuBLAS, cuDNN and their like, once each */
};

/* Always said: "softgpu: " and the text. */
void sg_log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Said when SOFTGPU_LOG names that part. */
void sg_log_part(enum sg_log_part part, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
