/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks with every system register and instruction that can be encoded (Arm ARM, "System
 * instruction class encoding overview"). */
#include "kernel/memory.h"
#include "kernel/print.h"
#include "rogue.h"

#define NAMES      16384u /* per op0: op1, CRn, CRm, op2 */
#define OP0_SYSTEM 1u     /* op0 of system instructions */
#define OP0_LAST   3u     /* op0 2: debug registers; 3: system registers */

#define OP1(name) ((name) >> 11)
#define CRN(name) ((name) >> 7 & 0xf)

#define SETS         2048u /* of a cache */
#define SETS_SAMPLED 128u

#define OP1_HIGHER 4u /* from this op1 on: registers of EL2, EL3 and Secure EL1 */

/* Registers that are only written with their present value, because this program could not continue
 * otherwise. ICC_AP1R<n>_EL1 would block the hypervisor's interrupt on this core
 * (docs/decisions/0013). */
static const uint16_t kept[] = {
    NAME(0, 1, 0, 0),   NAME(0, 1, 0, 1),   NAME(0, 1, 0, 2),  /* SCTLR_EL1, ACTLR, CPACR */
    NAME(0, 2, 0, 0),   NAME(0, 2, 0, 1),   NAME(0, 2, 0, 2),  /* TTBR0_EL1, TTBR1, TCR */
    NAME(0, 10, 2, 0),  NAME(0, 12, 0, 0),  NAME(0, 4, 2, 0),  /* MAIR_EL1, VBAR_EL1, SPSel */
    NAME(3, 4, 2, 1),   NAME(0, 13, 0, 4),                     /* DAIF, TPIDR_EL1 */
    NAME(0, 12, 9, 0),  NAME(0, 12, 9, 1),  NAME(0, 12, 9, 2), /* ICC_AP1R0_EL1 to */
    NAME(0, 12, 9, 3),                                         /* ICC_AP1R3_EL1 */
    NAME(0, 12, 12, 7), NAME(0, 12, 12, 0),                    /* ICC_IGRPEN1_EL1, ICC_IAR1 */
};

struct outcome {
    unsigned done, undefined;
    unsigned higher; /* accesses that worked although they belong to another level */
    unsigned odd;    /* accesses that this level refused other than as UNDEFINED */
    uint32_t example;
};

static bool keeps_its_value(unsigned op0, unsigned name)
{
    for (size_t i = 0; op0 == OP0_LAST && i < sizeof kept / sizeof kept[0]; i++) {
        if (kept[i] == name) {
            return true;
        }
    }
    return false;
}

/* Returns true if an access that worked reached a higher level. HCR_EL2.TIDCP traps implementation
 * defined names of every level: the hypervisor ignores writes to them and returns 0 for reads, so
 * such an access counts only if it reads another value. */
static bool is_higher(uint32_t instruction, unsigned name, uint64_t value)
{
    bool implementation_defined = CRN(name) == 11 || CRN(name) == 15;
    bool read = (instruction & READ(0, 0)) == READ(0, 0);

    return OP1(name) >= OP1_HIGHER && (!implementation_defined || (read && value != 0));
}

static bool try_access(struct outcome *outcome, const uint32_t *code, unsigned name,
                       uint64_t *value)
{
    uint64_t syndrome;

    *value = try_code(code, *value, &syndrome);
    if (syndrome == 0) {
        outcome->done++;
        if (is_higher(code[0], name, *value)) {
            outcome->higher++;
            outcome->example = code[0];
        }
        return true;
    }
    if (EXCEPTION_CLASS(syndrome) == 0) {
        outcome->undefined++;
    } else {
        outcome->odd++;
        outcome->example = code[0];
    }
    return false;
}

/* Reads the register, writes the value back, and then writes ones and random values, restoring the
 * value after each. Instructions get the address of memory that they may zero. */
static void try_name(struct outcome *outcome, const uint32_t *read, const uint32_t *write,
                     unsigned op0, unsigned name, uint64_t scratch)
{
    uint64_t before = scratch, value;
    bool readable = try_access(outcome, read, name, &before);

    before = readable ? before : scratch;
    value = before;
    if (keeps_its_value(op0, name) && !readable) {
        return;
    }
    if (!try_access(outcome, write, name, &value) || op0 == OP0_SYSTEM ||
        keeps_its_value(op0, name)) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        value = i == 0 ? UINT64_MAX : random_next();
        (void)try_access(outcome, write, name, &value);
        value = before;
        (void)try_access(outcome, write, name, &value);
    }
}

/* Generates a read and a return for each name, followed by a write and a return for each name. */
static uint32_t *make_code(unsigned op0)
{
    uint32_t *code = code_allocate((size_t)4 * NAMES);

    for (size_t name = 0; code != NULL && name < NAMES; name++) {
        code[2 * name] = READ(op0, name);
        code[2 * (NAMES + name)] = WRITE(op0, name);
        code[2 * name + 1] = code[2 * (NAMES + name) + 1] = RET;
    }
    return code != NULL && code_finish(code, (size_t)4 * NAMES) ? code : NULL;
}

static bool try_all_names(struct outcome *outcome, unsigned op0, uint64_t scratch)
{
    const uint32_t *code = make_code(op0);
    struct trying trying;

    if (code == NULL) {
        return false;
    }
    trying = try_begin();
    for (size_t name = 0; name < NAMES; name++) {
        try_name(outcome, &code[2 * name], &code[2 * (NAMES + name)], op0, (unsigned)name, scratch);
    }
    try_end(&trying);
    return true;
}

void attack_registers(uint64_t where)
{
    void *scratch = page_allocate(1, PAGE_BYTES);

    (void)where;
    for (unsigned op0 = OP0_SYSTEM; op0 <= OP0_LAST; op0++) {
        struct outcome outcome = {0};

        if (scratch == NULL || !try_all_names(&outcome, op0, (uintptr_t)scratch)) {
            print("FAIL: rogue: no memory for code\n");
            return;
        }
        print("op0 %u: %u done, %u undefined, %u of a higher level, %u odd, such as %x\n", op0,
              outcome.done, outcome.undefined, outcome.higher, outcome.odd, outcome.example);
    }
}

/* Invalidates and cleans up to 4 cache levels, 16 ways and 2048 sets, of which a sample has a
 * part. */
void attack_cache(uint64_t where)
{
    uint64_t step = attack_samples ? SETS / SETS_SAMPLED : 1;

    (void)where;
    for (uint64_t level = 0; level < 4; level++) {
        for (uint64_t way = 0; way < 16; way++) {
            for (uint64_t set = 0; set < SETS; set += step) {
                uint64_t value = way << 28 | set << 6 | level << 1;

                __asm__ volatile("dc isw, %0\n\tdc csw, %0\n\tdc cisw, %0"
                                 :
                                 : "r"(value)
                                 : "memory");
            }
        }
    }
}
