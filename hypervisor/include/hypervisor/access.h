/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest's trapped access to a device's registers, and the result of handling it. */
#ifndef HYPERVISOR_ACCESS_H
#define HYPERVISOR_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct access {
    uint64_t offset; /* offset from the first register of the device or frame; in range */
    uint64_t value;  /* value to write, or read; zero-extended. The handler of a read sets it */
    uint8_t bytes;   /* size: 1, 2, 4 or 8; the access is naturally aligned */
    bool write;
};

enum access_result {
    ACCESS_DONE,
    /* The access was handled as if the register were absent: a read returns zero (ones in PCI
     * configuration space), a write is ignored. The exit is counted as refused. */
    ACCESS_REFUSED,
    /* The system register or instruction is hidden from the guest, which takes an UNDEFINED
     * exception at EL1. The exit is counted as refused. */
    ACCESS_UNDEFINED,
    /* The partition does not have the address, or the kind of access is unsupported. The partition
     * is stopped and the report names the access, unless the guest takes an external abort
     * (docs/decisions/0066-aborts-of-processes.md). */
    ACCESS_FORBIDDEN,
    /* The guest repeats the instruction, because another VCPU of the partition has to carry out the
     * access first, to follow earlier accesses, or to end its own access, or because the back-end
     * of a shared device has to stop. The guest and the hypervisor take their interrupts before
     * each attempt, and the VCPU pays for it: a return from an exception takes those that are
     * pending (Arm ARM, "Context synchronization events"). */
    ACCESS_AGAIN
};

#endif
