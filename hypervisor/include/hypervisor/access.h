/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest's access to registers that it does not reach directly, and what becomes of it. */
#ifndef HYPERVISOR_ACCESS_H
#define HYPERVISOR_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct access {
    uint64_t offset; /* from the first register of what is accessed; in range */
    uint64_t value;  /* to write; or what was read: set by who handles it, above `bytes` zero */
    uint8_t bytes;   /* 1, 2, 4, 8; naturally aligned */
    bool write;
};

enum access_result {
    ACCESS_DONE,
    /* Done as if nothing were there: reads as zero (or as absent), writes are ignored. Counted. */
    ACCESS_REFUSED,
    /* Of a system register or instruction: UNDEFINED at the guest's own level. Counted as refused.
     */
    ACCESS_UNDEFINED,
    /* Nothing that a correct guest does: the partition is stopped and the report names it. */
    ACCESS_FORBIDDEN
};

#endif
