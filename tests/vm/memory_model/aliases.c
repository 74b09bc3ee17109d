/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that executes the same code at two virtual addresses, one after the other. There is no
 * translation of the first address any more when it executes at the second.
 */
#include "machine.h"

#define ENTRIES 512u
#define GIB     (UINT64_C(1) << 30)
#define MEMORY  1u /* the GiB of physical addresses in which the guest's memory is */
#define FIRST   2u /* GiB of virtual addresses that are mapped to it, too */
#define SECOND  3u

/* Arm ARM, D8.3: a table; a block of Device memory (attribute 0) that has been accessed, and one of
 * Normal memory (attribute 1, Inner Shareable). */
#define TABLE  UINT64_C(3)
#define DEVICE UINT64_C(0x401)
#define NORMAL UINT64_C(0x705)

#define MAIR UINT64_C(0xff00) /* attribute 0: Device-nGnRnE; 1: Normal, write-back */
/* 48-bit addresses by TTBR0_EL1, which are 40 bits in physical memory; none by TTBR1_EL1 (EPD1). */
#define TCR      (UINT64_C(2) << 32 | UINT64_C(1) << 23 | UINT64_C(3) << 12 | UINT64_C(5) << 8 | 16u)
#define SCTLR_ON (UINT64_C(1) << 12 | UINT64_C(1) << 2 | UINT64_C(1)) /* I, C, M */

static uint64_t root[ENTRIES] __attribute__((aligned(4096)));
static uint64_t table[ENTRIES] __attribute__((aligned(4096)));

/* Two lines of 64 bytes with one block of code, which ends at the branch. */
void two_lines(uint64_t rounds);
__asm__(".pushsection .text.two_lines, \"ax\"\n"
        ".balign 128\n"
        "two_lines:\n"
        ".rept 24\n"
        "nop\n"
        ".endr\n"
        "subs x0, x0, #1\n"
        "b.ne two_lines\n"
        "ret\n"
        ".popsection\n");

static void mmu_on(void)
{
    root[0] = (uintptr_t)table | TABLE;
    table[0] = DEVICE;
    table[MEMORY] = MEMORY * GIB | NORMAL;
    table[FIRST] = MEMORY * GIB | NORMAL;
    table[SECOND] = MEMORY * GIB | NORMAL;
    __asm__ volatile("msr mair_el1, %0\n\t"
                     "msr tcr_el1, %1\n\t"
                     "msr ttbr0_el1, %2\n\t"
                     "dsb sy\n\tisb\n\ttlbi vmalle1\n\tdsb sy\n\tisb\n\t"
                     "msr sctlr_el1, %3\n\tisb"
                     :
                     : "r"(MAIR), "r"(TCR), "r"(root), "r"(SCTLR_ON)
                     : "memory");
}

static void execute_in(uint64_t gib, uint64_t rounds)
{
    uint64_t address = (uintptr_t)two_lines + (gib - MEMORY) * GIB;

    ((void (*)(uint64_t))address)(rounds);
}

void guest_main(void)
{
    mmu_on();
    execute_in(FIRST, 1);
    *(volatile uint64_t *)&table[FIRST] = 0;
    __asm__ volatile("dsb sy\n\ttlbi vmalle1\n\tdsb sy\n\tisb" : : : "memory");
    print("executes at the second address\n");
    for (;;) {
        execute_in(SECOND, 1000);
    }
}
