/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Validation of a system description from an untrusted source. In a valid description every count
 * is within its bounds, and no page, core, interrupt or PCI function has two owners. boot/ checks
 * later whether the board has the described memory, cores and devices.
 */
#ifndef HYPERVISOR_CHECK_H
#define HYPERVISOR_CHECK_H

#include "hypervisor/description.h"
#include <stdbool.h>

struct description_problem {
    const char *text;   /* the error, in static memory */
    uint32_t partition; /* index of the partition with the error, or DESCRIPTION_NO_PARTITION */
    uint64_t value;     /* the address or number that `text` names */
};

/*
 * Validates a description. `description`: aligned to 8. `room`: number of bytes that can be read
 * from there. Returns true if the description is valid. Otherwise returns false and sets *problem,
 * which names a partition only if that has a valid name. Boot core, also with the MMU off; uses 3.5
 * KiB of stack.
 */
bool description_check(const struct description *description, uint64_t room,
                       struct description_problem *problem);

#endif
