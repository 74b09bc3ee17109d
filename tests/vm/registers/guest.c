/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that finds all system registers that it can write, fills each with a value of its own
 * (the bits of PATTERN, or with OWN 2 their complement), and looks again and again whether the
 * values are still there. So every bit that can be written differs between two of these guests.
 */
#include "instructions.h"
#include "machine.h"
#include <stdbool.h>
#include <stddef.h>

#define PATTERN UINT64_C(0x5a96c3e65a96c3e6)
#define VALUE   (OWN == 1 ? PATTERN : ~PATTERN)

#define ROUNDS   200u
#define ROUND_US 1000u
#define HELD_MAX 256u

/* op0, and the number of names to look at, from op1 0 on: registers of debuggers with op1 0, and
 * other registers of EL1 and EL0. */
#define OP0_DEBUG   2u
#define NAMES_DEBUG 2048u
#define OP0         3u
#define NAMES       8192u

#define CRN(name) ((name) >> 7 & 0xfu)
#define CRM(name) ((name) >> 3 & 0xfu)

#define OSDTRRX_EL1   NAME(0, 0, 0, 2) /* of op0 2 */
#define OSDTRTX_EL1   NAME(0, 0, 3, 2) /* of op0 2 */
#define SCTLR_EL1     NAME(0, 1, 0, 0)
#define CPACR_EL1     NAME(0, 1, 0, 2)
#define SPSEL         NAME(0, 4, 2, 0)
#define DISR_EL1      NAME(0, 12, 1, 1)
#define NZCV          NAME(3, 4, 2, 0)
#define DAIF          NAME(3, 4, 2, 1)
#define ICC_CTLR_EL1  NAME(0, 12, 12, 4)
#define PMCR_EL0      NAME(3, 9, 12, 0)
#define PMSELR_EL0    NAME(3, 9, 12, 5)
#define PMCCNTR_EL0   NAME(3, 9, 13, 0)
#define PMUSERENR_EL0 NAME(3, 9, 14, 0)
#define CNTP_TVAL_EL0 NAME(3, 14, 2, 0)
#define CNTP_CTL_EL0  NAME(3, 14, 2, 1)
#define CNTV_TVAL_EL0 NAME(3, 14, 3, 0)
#define CNTV_CTL_EL0  NAME(3, 14, 3, 1)

/* Bits that stay as they are and are not compared. */
#define SCTLR_KEPT      (UINT64_C(1) << 25 | UINT64_C(1)) /* EE and M: this guest needs them */
#define CPACR_KEPT      (UINT64_C(3) << 20)               /* FPEN: FPCR and FPSR need it */
#define ICC_CTLR_KEPT   UINT64_C(1)                       /* CBPR: ICC_BPR1_EL1 depends on it */
#define PMCR_KEPT       UINT64_C(7) /* C and P are actions; counters with E change */
#define CNT_CTL_ISTATUS UINT64_C(4)

/* A register, with the instructions that access it. */
struct held {
    uint32_t read[2], write[2];
    uint64_t value, mask; /* the mask: of the bits that are compared */
    unsigned op0, name;
} __attribute__((aligned(16)));

uint64_t try_vector, try_state;

static struct held held[HELD_MAX];
static unsigned held_count;

/* Performance monitors where a write sets or clears bits, or that are views of others. */
static bool is_odd_monitor(unsigned name)
{
    return (CRN(name) == 9 && CRM(name) >= 12) && name != PMCR_EL0 && name != PMCCNTR_EL0 &&
           name != PMUSERENR_EL0 && name != PMSELR_EL0;
}

/* This guest uses some registers itself. Others are views of a register, or change with time. */
static bool is_excluded(unsigned op0, unsigned name)
{
    if (op0 == OP0_DEBUG) { /* and DBGCLAIMSET_EL1 and DBGCLAIMCLR_EL1 */
        return name == OSDTRRX_EL1 || name == OSDTRTX_EL1 || CRN(name) == 7;
    }
    switch (name) {
    case SPSEL:
    case NZCV:
    case DAIF:
    case CNTP_TVAL_EL0:
    case CNTV_TVAL_EL0:
        return true;
    default:
        return is_odd_monitor(name);
    }
}

static uint64_t kept_bits(const struct held *each)
{
    if (each->op0 == OP0_DEBUG) {
        return 0;
    }
    switch (each->name) {
    case SCTLR_EL1:
        return SCTLR_KEPT;
    case CPACR_EL1:
        return CPACR_KEPT;
    case ICC_CTLR_EL1:
        return ICC_CTLR_KEPT;
    case PMCR_EL0:
        return PMCR_KEPT;
    case CNTP_CTL_EL0:
    case CNTV_CTL_EL0:
        return CNT_CTL_ISTATUS;
    default:
        return 0;
    }
}

static void make_code(struct held *each)
{
    each->read[0] = READ(each->op0, each->name);
    each->write[0] = WRITE(each->op0, each->name);
    each->read[1] = each->write[1] = RET;
    /* The instructions are in one cache line. */
    __asm__ volatile("dc cvau, %0\n\tdsb sy\n\tic ivau, %0\n\tdsb sy\n\tisb"
                     :
                     : "r"(each->read)
                     : "memory");
}

/* Returns false if there is no such register to read. */
static bool read_register(const struct held *each, uint64_t *value)
{
    uint64_t syndrome;

    *value = try_code(each->read, 0, &syndrome);
    return syndrome == 0;
}

static bool write_register(const struct held *each, uint64_t value)
{
    uint64_t syndrome;

    (void)try_code(each->write, value, &syndrome);
    return syndrome == 0;
}

/* Returns true if the register exists and has a bit that can be written. */
static bool can_hold(struct held *each)
{
    uint64_t before, other = 0, kept = kept_bits(each);

    make_code(each);
    if (!read_register(each, &before) || !write_register(each, before)) {
        return false;
    }
    (void)write_register(each, (~VALUE & ~kept) | (before & kept));
    (void)read_register(each, &other);
    (void)write_register(each, (VALUE & ~kept) | (before & kept));
    (void)read_register(each, &each->value);
    (void)write_register(each, before);
    each->mask = (each->value ^ other) & ~kept;
    return each->mask != 0;
}

static bool find(unsigned op0, unsigned name)
{
    if (is_excluded(op0, name)) {
        return true;
    }
    if (held_count == HELD_MAX) {
        return false;
    }
    held[held_count].op0 = op0;
    held[held_count].name = name;
    held_count += can_hold(&held[held_count]) ? 1 : 0;
    return true;
}

static bool find_all(void)
{
    bool are_few = true;

    __asm__ volatile("msr cpacr_el1, %0\n\tmsr vbar_el1, %1\n\tisb"
                     :
                     : "r"(CPACR_KEPT), "r"(try_vectors)
                     : "memory");
    for (unsigned name = 0; name < NAMES_DEBUG && are_few; name++) {
        are_few = find(OP0_DEBUG, name);
    }
    for (unsigned name = 0; name < NAMES && are_few; name++) {
        are_few = find(OP0, name);
    }
    return are_few;
}

/* From here on no exception may be taken: the vectors are elsewhere. The values are not read back,
 * because the other guest may have executed in between. */
static void fill(void)
{
    for (unsigned i = 0; i < held_count; i++) {
        (void)write_register(&held[i], held[i].value);
    }
    __asm__ volatile("isb");
}

static void print_value(const char *text, uint64_t value)
{
    char digits[] = "0000000000000000";

    for (unsigned i = 0; i < 16; i++) {
        digits[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 0xf];
    }
    print(text);
    print(digits);
}

/* The hypervisor clears DISR_EL1, because it hides the RAS extension. */
static bool is_right(const struct held *each, uint64_t value)
{
    return ((value ^ each->value) & each->mask) == 0 ||
           (each->op0 == OP0 && each->name == DISR_EL1 && value == 0);
}

static bool all_are_right(void)
{
    bool are_right = true;

    for (unsigned i = 0; i < held_count; i++) {
        uint64_t value = 0;

        (void)read_register(&held[i], &value);
        if (!is_right(&held[i], value)) {
            print_value("FAIL: ", held[i].read[0]);
            print_value(" is ", value);
            print_value(" instead of ", held[i].value);
            print("\n");
            are_right = false;
        }
    }
    return are_right;
}

/* Executes for a while, in which the other guest executes, too. */
static bool round_passes(void)
{
    uint64_t begin = counter(), ticks = counter_frequency() / 1000000 * ROUND_US;
    bool passes = true;

    while (passes && counter() - begin < ticks) {
        passes = all_are_right();
    }
    return passes;
}

void guest_main(void)
{
    bool passes = find_all();

    if (!passes) {
        print("FAIL: too many registers\n");
    }
    for (unsigned i = 0; i < held_count; i++) {
        print_value("holds ", held[i].read[0]);
        print("\n");
    }
    fill();
    print("is filled\n");
    while (passes) {
        for (unsigned round = 0; round < ROUNDS && passes; round++) {
            passes = round_passes();
        }
        print(passes ? "PASS\n" : "ended\n");
    }
    for (;;) { /* the registers stay for the other guest */
    }
}
