/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests registers and instructions of features that the hypervisor hides from all guests. Each
 * access must be UNDEFINED at this guest's own level, as on a processor without the feature.
 */
#include "kernel/print.h"
#include "rogue.h"

#define REGISTER(op0, op1, n, m, op2) READ(op0, NAME(op1, n, m, op2))

/* Each sequence has four instructions; the second is the one under test. */
#define SEQUENCE_WORDS 4u
#define NOP            0xd503201fu
#define SPSEL_0        0xd50040bfu /* MSR SPSel, #0 */
#define SPSEL_1        0xd50041bfu

/* Offsets of vectors, and PSTATE.M (Arm ARM, "Exception vectors", SPSR_EL1). */
#define VECTOR_SP_EL0 0x000u
#define VECTOR_SP_EL1 0x200u
#define STATE_MODE    0x1fu
#define STATE_EL1T    0x4u
#define STATE_EL1H    0x5u
#define UNDEFINED     UINT64_C(0x02000000) /* ESR_EL1: EC 0, IL */

/* CPACR_EL1: EL1 traps neither SVE, FP nor SME by itself (ZEN, FPEN, SMEN). */
#define CPACR_ALL (UINT64_C(3) << 16 | UINT64_C(3) << 20 | UINT64_C(3) << 24)

static const uint32_t hidden[] = {
    /* Trace: TRCPRGCTLR, TRCSTATR, TRCOSLSR. TRFCR_EL1 */
    REGISTER(2, 1, 0, 1, 0),
    REGISTER(2, 1, 0, 3, 0),
    REGISTER(2, 1, 1, 1, 4),
    REGISTER(3, 0, 1, 2, 1),
    /* Activity monitors: AMCR_EL0, AMCFGR_EL0, AMCNTENSET0_EL0, AMEVCNTR00_EL0 */
    REGISTER(3, 3, 13, 2, 0),
    REGISTER(3, 3, 13, 2, 1),
    REGISTER(3, 3, 13, 2, 5),
    REGISTER(3, 3, 13, 4, 0),
    /* RAS: ERRIDR_EL1, ERRSELR, ERXFR, ERXCTLR, ERXSTATUS, ERXADDR, ERXMISC0 */
    REGISTER(3, 0, 5, 3, 0),
    REGISTER(3, 0, 5, 3, 1),
    REGISTER(3, 0, 5, 4, 0),
    REGISTER(3, 0, 5, 4, 1),
    REGISTER(3, 0, 5, 4, 2),
    REGISTER(3, 0, 5, 4, 3),
    REGISTER(3, 0, 5, 5, 0),
    /* Limited ordering regions: LORSA_EL1, LOREA, LORN, LORC, LORID */
    REGISTER(3, 0, 10, 4, 0),
    REGISTER(3, 0, 10, 4, 1),
    REGISTER(3, 0, 10, 4, 2),
    REGISTER(3, 0, 10, 4, 3),
    REGISTER(3, 0, 10, 4, 7),
    /* MPAM: MPAMIDR_EL1, MPAM1_EL1, MPAM0_EL1 */
    REGISTER(3, 0, 10, 4, 4),
    REGISTER(3, 0, 10, 5, 0),
    REGISTER(3, 0, 10, 5, 1),
    /* SPE: PMSCR_EL1, PMSIDR_EL1, PMBLIMITR_EL1, PMBPTR_EL1, PMBIDR_EL1 */
    REGISTER(3, 0, 9, 9, 0),
    REGISTER(3, 0, 9, 9, 7),
    REGISTER(3, 0, 9, 10, 0),
    REGISTER(3, 0, 9, 10, 1),
    REGISTER(3, 0, 9, 10, 7),
    /* TRBE: TRBLIMITR_EL1, TRBIDR_EL1. BRBE: BRBCR_EL1 */
    REGISTER(3, 0, 9, 11, 0),
    REGISTER(3, 0, 9, 11, 7),
    REGISTER(2, 1, 9, 0, 0),
    /* SVE and SME: ZCR_EL1, SMCR_EL1, SMPRI_EL1, TPIDR2_EL0, SVCR; RDVL x0, #1; SMSTART */
    REGISTER(3, 0, 1, 2, 0),
    REGISTER(3, 0, 1, 2, 6),
    REGISTER(3, 0, 1, 2, 4),
    REGISTER(3, 3, 13, 0, 5),
    REGISTER(3, 3, 4, 2, 2),
    0x04bf5020u,
    0xd503477fu,
    /* MTE: RGSR_EL1, GCR_EL1, TFSR_EL1 (not GMID_EL1: QEMU has it without HCR_EL2.TID5) */
    REGISTER(3, 0, 1, 0, 5),
    REGISTER(3, 0, 1, 0, 6),
    REGISTER(3, 0, 5, 6, 0),
    /* SCXTNUM_EL1, SCXTNUM_EL0, ACCDATA_EL1, TCR2_EL1, SCTLR2_EL1, PIR_EL1, POR_EL1 */
    REGISTER(3, 0, 13, 0, 7),
    REGISTER(3, 3, 13, 0, 7),
    REGISTER(3, 0, 13, 0, 5),
    REGISTER(3, 0, 2, 0, 3),
    REGISTER(3, 0, 1, 0, 3),
    REGISTER(3, 0, 10, 2, 3),
    REGISTER(3, 0, 10, 2, 4),
};

#define HIDDEN (sizeof hidden / sizeof hidden[0])

/* Generates two sequences for each hidden instruction: on SP_EL1, then on SP_EL0, which the
 * kernel's threads use. */
static uint32_t *make_code(void)
{
    size_t words = (size_t)2 * SEQUENCE_WORDS * HIDDEN;
    uint32_t *code = code_allocate(words);

    for (size_t i = 0; code != NULL && i < HIDDEN; i++) {
        uint32_t *sequence = &code[(size_t)2 * SEQUENCE_WORDS * i];

        sequence[0] = SPSEL_1;
        sequence[1] = hidden[i];
        sequence[2] = SPSEL_0;
        sequence[3] = RET;
        sequence[4] = NOP;
        sequence[5] = hidden[i];
        sequence[6] = NOP;
        sequence[7] = RET;
    }
    return code != NULL && code_finish(code, words) ? code : NULL;
}

static bool is_undefined(const uint32_t *sequence, uint64_t vector, uint64_t mode)
{
    uint64_t syndrome;

    (void)try_code(sequence, 0, &syndrome);
    return syndrome == UNDEFINED && try_vector == vector && (try_state & STATE_MODE) == mode;
}

void attack_undefined(uint64_t where)
{
    const uint32_t *code = make_code();
    static bool refused[HIDDEN];
    unsigned count = 0;
    uint64_t access;
    struct trying trying;

    (void)where;
    if (code == NULL) {
        print("FAIL: rogue: no memory for code\n");
        return;
    }
    trying = try_begin();
    __asm__ volatile("mrs %0, cpacr_el1\n\tmsr cpacr_el1, %1\n\tisb"
                     : "=&r"(access)
                     : "r"(CPACR_ALL)
                     : "memory");
    for (size_t i = 0; i < HIDDEN; i++) {
        const uint32_t *sequence = &code[(size_t)2 * SEQUENCE_WORDS * i];

        refused[i] = is_undefined(sequence, VECTOR_SP_EL1, STATE_EL1H) &&
                     is_undefined(sequence + SEQUENCE_WORDS, VECTOR_SP_EL0, STATE_EL1T);
        count += refused[i];
    }
    __asm__ volatile("msr cpacr_el1, %0\n\tisb" : : "r"(access) : "memory");
    try_end(&trying);
    for (size_t i = 0; i < HIDDEN; i++) {
        if (!refused[i]) {
            print("not undefined: %x\n", hidden[i]);
        }
    }
    print("%u undefined of %u\n", count, (unsigned)HIDDEN);
}

#define ID_REGISTERS 56u /* CRm 1 to 7 */

/* Prints the ID registers of op0 3, op1 0, CRn 0, CRm 1 to 7, one per line. */
void attack_identity(uint64_t where)
{
    uint32_t *code = code_allocate((size_t)2 * ID_REGISTERS);
    static uint64_t values[ID_REGISTERS];
    struct trying trying;
    unsigned failed = 0;

    (void)where;
    for (size_t i = 0; code != NULL && i < ID_REGISTERS; i++) {
        code[2 * i] = READ(3u, NAME(0u, 0u, 1u + (unsigned)i / 8, (unsigned)i % 8));
        code[2 * i + 1] = RET;
    }
    if (code == NULL || !code_finish(code, (size_t)2 * ID_REGISTERS)) {
        print("FAIL: rogue: no memory for code\n");
        return;
    }
    trying = try_begin();
    for (size_t i = 0; i < ID_REGISTERS; i++) {
        uint64_t syndrome;

        values[i] = try_code(&code[2 * i], 0, &syndrome);
        failed += syndrome != 0;
    }
    try_end(&trying);
    for (unsigned i = 0; i < ID_REGISTERS; i++) {
        print("id %u %u: %lx\n", 1 + i / 8, i % 8, (unsigned long)values[i]);
    }
    print("%u ID registers raise an exception\n", failed);
}

/* Sets the OS lock and the OS double lock. OSLSR_EL1 has to show that these writes are ignored. */
void attack_locks(uint64_t where)
{
    uint64_t before, after, rom;

    (void)where;
    __asm__ volatile("mrs %0, oslsr_el1\n\t"
                     "msr oslar_el1, %3\n\t"
                     "msr osdlr_el1, %3\n\t"
                     "isb\n\t"
                     "mrs %1, oslsr_el1\n\t"
                     "mrs %2, mdrar_el1"
                     : "=&r"(before), "=&r"(after), "=&r"(rom)
                     : "r"(UINT64_C(1)));
    print("locks %lx %lx, debug ROM %lx\n", (unsigned long)before, (unsigned long)after,
          (unsigned long)rom);
}
