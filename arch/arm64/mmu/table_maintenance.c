/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entry writes with the barriers and TLB maintenance that the architecture asks for. Inner
 * Shareable forms, so that more cores change nothing here.
 */
#include "mmu/table_maintenance.h"

#include <arch/cpu_inline.h>

/* TLBI VAE1IS takes VA[55:12] in bits 43:0, and ASID 0 above (Arm ARM, TLBI VAE1IS). One address
 * inside a block takes the whole block out. */
static uint64_t tlbi_argument(uint64_t address)
{
    return (address >> 12) & ((UINT64_C(1) << 44) - 1);
}

/* NOLINTBEGIN(readability-non-const-parameter): the assembly below writes to the entries */

void table_entry_make(uint64_t *entry, uint64_t descriptor)
{
    /* DSB: the walker sees the entry, and a table that it points to, before anything uses the
     * address. ISB: no instruction that was fetched before does. */
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
 * The range may hold the running thread's stack: everything is in registers and interrupts are
 * masked until it is mapped again.
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
