/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Validates a system description from an untrusted source. If it is valid, every count is within
 * its bounds, and no page, core, interrupt or PCI function has two owners. Whether the board has
 * the described memory, cores and devices is checked later (boot/).
 */
#ifndef HYPERVISOR_CHECK_H
#define HYPERVISOR_CHECK_H

#include "hypervisor/description.h"
#include <stdbool.h>

struct description_problem {
    const char *text;   /* the error, in static memory */
    uint32_t partition; /* index of the partition with the error, or DESCRIPTION_NO_PARTITION */
    uint64_t value;     /* the address or number that the text names */
};

/*
 * Returns true if the description is valid. Returns false if it is not, and sets *problem, which
 * names a partition only if that has a valid name. `description`: aligned to 8. `room`: bytes that
 * can be read from there on. Boot core, also with the MMU off; 3.5 KiB of stack.
 */
bool description_check(const struct description *description, uint64_t room,
                       struct description_problem *problem);

#endif
