/* SPDX-License-Identifier: BSD-2-Clause */
#include "rogue.h"

uint64_t try_vector, try_state;

struct trying try_begin(void)
{
    struct trying trying = {.interrupts = interrupts_save()};

    __asm__ volatile("msr daifset, #0xf\n\tmrs %0, vbar_el1\n\tmsr vbar_el1, %1\n\tisb"
                     : "=&r"(trying.vectors)
                     : "r"(try_vectors)
                     : "memory");
    return trying;
}

void try_end(const struct trying *trying)
{
    __asm__ volatile("msr vbar_el1, %0\n\tisb\n\tmsr daifclr, #0xd"
                     :
                     : "r"(trying->vectors)
                     : "memory");
    interrupts_restore(trying->interrupts);
}
