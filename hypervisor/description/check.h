/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a system description can be acted on. Nothing of it is believed: after `true` every count
 * is in its bounds, and no page, core, interrupt or PCI function has two owners. What only the
 * machine can tell (is the memory there, are these its cores) is not asked here.
 */
#ifndef HYPERVISOR_CHECK_H
#define HYPERVISOR_CHECK_H

#include "hypervisor/description.h"
#include <stdbool.h>

struct description_problem {
    const char *text;   /* what is wrong, in static memory */
    uint32_t partition; /* whose part of the description it is, or DESCRIPTION_NO_PARTITION */
    uint64_t value;     /* an address, or what else the text says */
};

/*
 * `room`: bytes that are there from `description` on, which is aligned to 8. `problem` is set when
 * the result is false; it names a partition only if that has a valid name. Boot core, also with the
 * MMU off; 3.5 KiB of stack.
 */
bool description_check(const struct description *description, uint64_t room,
                       struct description_problem *problem);

#endif
