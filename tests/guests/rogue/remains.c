/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers that the hypervisor has to clear at the start of a guest, because the start alone does
 * not change them. `mark` writes a pattern to each. `marked` counts the patterns it finds after a
 * restart of the partition. Registers that this kernel writes at its start are left out.
 */
#include "kernel/print.h"
#include "rogue.h"

#define PATTERN     UINT64_C(0x5ec2e75ec2e75ec2) /* bit 0 is clear: breakpoints stay off */
#define SIXTEEN     16u
#define COUNTERS    31u
#define REGISTERS   160u
#define FULL_ACCESS (UINT64_C(3) << 20) /* CPACR_EL1.FPEN */

struct name {
    uint8_t op0;
    uint16_t name;
    uint16_t read; /* name for reads if it differs, else 0 */
};

static const struct name single[] = {
    /* Pointer authentication: APIAKeyLo_EL1 to APGAKeyHi_EL1 */
    {3, NAME(0, 2, 1, 0), 0},
    {3, NAME(0, 2, 1, 1), 0},
    {3, NAME(0, 2, 1, 2), 0},
    {3, NAME(0, 2, 1, 3), 0},
    {3, NAME(0, 2, 2, 0), 0},
    {3, NAME(0, 2, 2, 1), 0},
    {3, NAME(0, 2, 2, 2), 0},
    {3, NAME(0, 2, 2, 3), 0},
    {3, NAME(0, 2, 3, 0), 0},
    {3, NAME(0, 2, 3, 1), 0},
    /* AFSR0_EL1, AFSR1_EL1, AMAIR_EL1, CONTEXTIDR_EL1, TPIDR_EL0, TPIDRRO_EL0, TTBR1_EL1 */
    {3, NAME(0, 5, 1, 0), 0},
    {3, NAME(0, 5, 1, 1), 0},
    {3, NAME(0, 10, 3, 0), 0},
    {3, NAME(0, 13, 0, 1), 0},
    {3, NAME(3, 13, 0, 2), 0},
    {3, NAME(3, 13, 0, 3), 0},
    {3, NAME(0, 2, 0, 1), 0},
    /* CSSELR_EL1, CNTP_CVAL_EL0 */
    {3, NAME(2, 0, 0, 0), 0},
    {3, NAME(3, 14, 2, 2), 0},
    /* OSDTRRX_EL1, OSDTRTX_EL1, MDCCINT_EL1, OSECCR_EL1 */
    {2, NAME(0, 0, 0, 2), 0},
    {2, NAME(0, 0, 3, 2), 0},
    {2, NAME(0, 0, 2, 0), 0},
    {2, NAME(0, 0, 6, 2), 0},
    /* DBGCLAIMSET_EL1, read by DBGCLAIMCLR_EL1; PMCNTENSET_EL0, PMINTENSET_EL1, PMOVSSET_EL0 */
    {2, NAME(0, 7, 8, 6), NAME(0, 7, 9, 6)},
    {3, NAME(3, 9, 12, 1), 0},
    {3, NAME(0, 9, 14, 1), 0},
    {3, NAME(3, 9, 14, 3), 0},
    /* PMUSERENR_EL0, PMSELR_EL0, PMCCFILTR_EL0 */
    {3, NAME(3, 9, 14, 0), 0},
    {3, NAME(3, 9, 12, 5), 0},
    {3, NAME(3, 14, 15, 7), 0},
};

static unsigned list(struct name *names)
{
    unsigned count = 0;

    for (; count < sizeof single / sizeof single[0]; count++) {
        names[count] = single[count];
    }
    for (unsigned i = 0; i < SIXTEEN; i++) {
        for (unsigned op2 = 4; op2 < 8; op2++) { /* DBGBVR<n>, DBGBCR<n>, DBGWVR<n>, DBGWCR<n> */
            names[count++] = (struct name){2, (uint16_t)NAME(0, 0, i, op2), 0};
        }
    }
    for (unsigned i = 0; i < COUNTERS; i++) { /* PMEVCNTR<n>, PMEVTYPER<n> */
        names[count++] = (struct name){3, (uint16_t)NAME(3, 14, 8 + i / 8, i % 8), 0};
        names[count++] = (struct name){3, (uint16_t)NAME(3, 14, 12 + i / 8, i % 8), 0};
    }
    return count;
}

/* Writes the pattern and returns the value read back, 0 if the register does not exist. */
static uint64_t write_pattern(const uint32_t *code)
{
    uint64_t syndrome;

    (void)try_code(code + 2, PATTERN, &syndrome);
    return syndrome == 0 ? try_code(code, 0, &syndrome) : 0;
}

/* Writes the pattern to all registers. Returns the number of registers that kept it, and adds to
 * *found the number that already held it. */
static unsigned mark(unsigned *found, uint32_t *example)
{
    static struct name names[REGISTERS];
    unsigned count = list(names), marks = 0;
    uint32_t *code = code_allocate((size_t)4 * count);
    struct trying trying;

    for (size_t i = 0; code != NULL && i < count; i++) {
        code[4 * i] = READ(names[i].op0, names[i].read != 0 ? names[i].read : names[i].name);
        code[4 * i + 2] = WRITE(names[i].op0, names[i].name);
        code[4 * i + 1] = code[4 * i + 3] = RET;
    }
    if (code == NULL || !code_finish(code, (size_t)4 * count)) {
        print("FAIL: rogue: no memory for code\n");
        return 0;
    }
    trying = try_begin();
    for (size_t i = 0; i < count; i++) {
        uint64_t syndrome, before, after;

        before = try_code(&code[4 * i], 0, &syndrome);
        after = write_pattern(&code[4 * i]);
        marks += after != 0;
        if (after != 0 && before == after) {
            ++*found;
            *example = code[4 * i];
        }
    }
    try_end(&trying);
    return marks;
}

static void attack(const char *name)
{
    uint32_t example = 0;
    unsigned found = 0, vectors, marks;
    uint64_t access;
    interrupt_state state = interrupts_save();

    __asm__ volatile("mrs %0, cpacr_el1\n\tmsr cpacr_el1, %1\n\tisb"
                     : "=&r"(access)
                     : "r"(FULL_ACCESS)
                     : "memory");
    vectors = vectors_mark(PATTERN);
    __asm__ volatile("msr cpacr_el1, %0\n\tisb" : : "r"(access) : "memory");
    interrupts_restore(state);
    marks = mark(&found, &example);
    print("%s: %u registers, %u had the mark, such as %x; %u vectors\n", name, marks, found,
          example, vectors);
}

void attack_mark(uint64_t where)
{
    (void)where;
    attack("mark");
}

void attack_marked(uint64_t where)
{
    (void)where;
    attack("marked");
}
