#ifndef VS_UNWIND_RULE_H
#define VS_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How to get from a frame to its caller's, in 64 bits. DWARF can say much more; these few kinds
 * cover nearly all code there is.
 *
 * sp and bp are the stack and the frame pointer as they are in the frame, the CFA ("canonical frame
 * address", DWARF 5, section 6.4) is the caller's stack pointer. The return address lies right
 * below the CFA.
 */
enum vs_unwind_kind {
	VS_UNWIND_SP,      /* CFA = sp + offset */
	VS_UNWIND_BP,      /* CFA = bp + offset */
	VS_UNWIND_BP_LOAD, /* CFA = *(bp + offset) */
	VS_UNWIND_SIGNAL,  /* what the kernel saved for a signal handler lies at sp */
	VS_UNWIND_END,     /* the outermost frame: its code says so */
	VS_UNWIND_BARE,    /* nobody says anything about this code */
	VS_UNWIND_FOREIGN, /* known, but not to be said in this little space */
};

/* Where the caller's bp is. */
enum vs_unwind_bp {
	VS_UNWIND_BP_KEPT,
	VS_UNWIND_BP_AT_CFA, /* *(CFA + offset) */
	VS_UNWIND_BP_AT_BP,  /* *(bp + offset) */
};

/* kind, where bp is, its offset, offset of the CFA; from the lowest bits: 8, 8, 16, 32. */
static inline uint64_t vs_unwind_rule_make(enum vs_unwind_kind kind, int32_t cfa_offset,
					   enum vs_unwind_bp bp, int16_t bp_offset)
{
	return (uint64_t)kind | (uint64_t)bp << 8 | (uint64_t)(uint16_t)bp_offset << 16 |
	       (uint64_t)(uint32_t)cfa_offset << 32;
}

/* A rule that is nothing but its kind. */
static inline uint64_t vs_unwind_rule_bare(enum vs_unwind_kind kind)
{
	return vs_unwind_rule_make(kind, 0, VS_UNWIND_BP_KEPT, 0);
}

static inline enum vs_unwind_kind vs_unwind_rule_kind(uint64_t rule)
{
	return (enum vs_unwind_kind)(rule & 0xff);
}

/* It says where the caller is: no other kind does without more than the stack. */
static inline bool vs_unwind_rule_is_plain(uint64_t rule)
{
	return vs_unwind_rule_kind(rule) <= VS_UNWIND_BP_LOAD;
}

/* A walk ends here, whatever the stack holds. */
static inline bool vs_unwind_kind_is_last(uint8_t kind)
{
	return kind == VS_UNWIND_END || kind == VS_UNWIND_BARE;
}

static inline enum vs_unwind_bp vs_unwind_rule_bp(uint64_t rule)
{
	return (enum vs_unwind_bp)(rule >> 8 & 0xff);
}

/* Sign-extended: to be added to an address. */
static inline uint64_t vs_unwind_rule_bp_offset(uint64_t rule)
{
	return (uint64_t)(int64_t)(int16_t)(rule >> 16 & 0xffff);
}

static inline uint64_t vs_unwind_rule_cfa_offset(uint64_t rule)
{
	return (uint64_t)(int64_t)(int32_t)(rule >> 32);
}

#endif
