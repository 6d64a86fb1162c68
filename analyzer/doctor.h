#ifndef VS_DOCTOR_H
#define VS_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

/*
 * What `vramscope doctor` found: whether a command could be recorded here, and what would be
 * missing in its trace. Each of the doctor_*.c looks at one side of it and adds its findings. They
 * are independent: what cannot be looked at is not known, and no reason to leave out the rest. One
 * thread.
 */
enum vs_finding_state {
	VS_FINDING_GOOD,
	VS_FINDING_NOTE, /* works, but something will be missing, slower, or different */
	VS_FINDING_BAD,  /* will not work */
};

#define VS_DOCTOR_MAX      64
#define VS_DOCTOR_TEXT_MAX 400

struct vs_finding {
	enum vs_finding_state state;
	const char *topic; /* "driver"; static */
	char text[VS_DOCTOR_TEXT_MAX];
	char remedy[VS_DOCTOR_TEXT_MAX]; /* what to do; empty: nothing */
};

struct vs_doctor {
	struct vs_finding findings[VS_DOCTOR_MAX];
	size_t nr_findings;
};

/* "good", "note", "bad". */
const char *vs_doctor_get_state_name(enum vs_finding_state state);

/* The worst of all findings. */
enum vs_finding_state vs_doctor_get_worst(const struct vs_doctor *doctor);

/* Adds one. remedy: a sentence, or NULL. More than VS_DOCTOR_MAX are left out. */
__attribute__((format(printf, 5, 6))) void vs_doctor_add(struct vs_doctor *doctor,
							 enum vs_finding_state state,
							 const char *topic, const char *remedy,
							 const char *format, ...);

/*
 * Runs a function in a child, which may crash or hang in the libraries of others: what it prints to
 * the file comes back as text. False: it did not end within ten seconds, or not in order.
 */
VS_MUST_CHECK bool vs_doctor_ask(char *text, size_t size, void (*ask)(int out, void *context),
				 void *context);

/* ---- One side each: doctor_*.c ----------------------------------------------------------------
 */

/* Driver, NVML, CUPTI: as this process would load them. */
void vs_doctor_gpu_look(struct vs_doctor *doctor);

/*
 * The command: whether the recorder gets into it, and which CUDA runtime it brings along. program:
 * the file that would run, or its interpreter; empty if there is none.
 */
void vs_doctor_command_look(struct vs_doctor *doctor, char **command, char program[PATH_MAX]);

/* If that is Python: its version, its frameworks, and the settings of their allocators. */
void vs_doctor_python_look(struct vs_doctor *doctor, const char *program);

/* The environment: what else is loaded into programs, or was told to frameworks. */
void vs_doctor_environment_look(struct vs_doctor *doctor);

/* Where the trace would be, and what the system allows. folder: of the trace. */
void vs_doctor_system_look(struct vs_doctor *doctor, const char *folder);

#endif
