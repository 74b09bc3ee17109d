/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes of entries, with the barriers and TLB maintenance that the architecture requires. The
 * Inner Shareable forms are right for several cores, too.
 */
#include "table_maintenance.h"

#include <arch/cpu_inline.h>

/* The argument of TLBI VAE1IS has VA[55:12] in bits 43:0, and above them the ASID, here 0 (Arm ARM,
 * TLBI VAE1IS). An address inside a block invalidates the whole block. */
static uint64_t tlbi_argument(uint64_t address)
{
    return (address >> 12) & ((UINT64_C(1) << 44) - 1);
}

/* NOLINTBEGIN(readability-non-const-parameter): the assembly below writes to the entries */

void table_entry_make(uint64_t *entry, uint64_t descriptor)
{
    /* The first DSB makes a table that the entry points to visible before the entry. After the
     * second DSB the table walker sees the entry before any later access. After the ISB, later
     * instructions are fetched. */
    __asm__ volatile("dsb ishst\n\t"
                     "str %1, %0\n\t"
                     "dsb ishst\n\t"
                     "isb"
                     : "=Q"(*entry)
                     : "r"(descriptor)
                     : "memory");
}

void table_entry_break(uint64_t *entry, uint64_t address, uint64_t bytes)
{
    (void)bytes;
    __asm__ volatile("str xzr, %0\n\t"
                     "dsb ishst\n\t"
                     "tlbi vae1is, %1\n\t"
                     "dsb ish\n\t"
                     "isb"
                     : "=Q"(*entry)
                     : "r"(tlbi_argument(address))
                     : "memory");
}

/*
 * Break-before-make (Arm ARM, "Using break-before-make when updating translation table entries").
 * The range may hold the running thread's stack: until it is mapped again, the code uses registers
 * only, and interrupts are masked.
 */
void table_entry_break_and_make(uint64_t *entry, uint64_t descriptor, uint64_t address,
                                uint64_t bytes)
{
    uint64_t interrupts = arch_interrupts_save();

    (void)bytes;
    __asm__ volatile("dsb ishst\n\t"
                     "str xzr, %0\n\t"
                     "dsb ishst\n\t"
                     "tlbi vae1is, %2\n\t"
                     "dsb ish\n\t"
                     "str %1, %0\n\t"
                     "dsb ishst\n\t"
                     "isb"
                     : "=Q"(*entry)
                     : "r"(descriptor), "r"(tlbi_argument(address))
                     : "memory");
    arch_interrupts_restore(interrupts);
}

/* NOLINTEND(readability-non-const-parameter) */
