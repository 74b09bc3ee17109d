/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heartbeat of a partition: a page that its guest writes and its monitors read. The guest finds
 * the address and the period in a node of its devicetree, "bulkhead,heartbeat".
 */
#ifndef ARCH_HEARTBEAT_H
#define ARCH_HEARTBEAT_H

#include <stdint.h>

#define HEARTBEAT_VCPUS 16u

/* The count of a VCPU, in a cache line of its own. */
struct heartbeat_count {
    /* The guest changes it by one aligned store, at least once in each period. 0 at the start. */
    uint64_t beats;
    uint64_t reserved[7];
};

/* At the start of the page. Normal memory, write-back. */
struct heartbeat_page {
    struct heartbeat_count vcpus[HEARTBEAT_VCPUS]; /* by VCPU: Aff0 of MPIDR_EL1 */
};

#endif
