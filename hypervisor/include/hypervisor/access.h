/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest's trapped access to a device's registers, and its result. */
#ifndef HYPERVISOR_ACCESS_H
#define HYPERVISOR_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct access {
    uint64_t offset; /* from the first register of the device or frame; in range */
    uint64_t value;  /* to write, or as read: the handler sets it; zero-extended */
    uint8_t bytes;   /* 1, 2, 4, 8; naturally aligned */
    bool write;
};

enum access_result {
    ACCESS_DONE,
    /* Handled as if the register were absent: it reads as zero (in PCI configuration space as
     * ones), and ignores writes. Counted. */
    ACCESS_REFUSED,
    /* An absent system register or instruction: the guest takes an UNDEFINED exception at EL1.
     * Counted as refused. */
    ACCESS_UNDEFINED,
    /* An access to an address that the partition does not have, or of an unsupported kind: the
     * partition is stopped and the report names the access, unless the guest takes an external
     * abort (description_partition.unmapped). */
    ACCESS_FORBIDDEN,
    /* Another VCPU of the partition has to carry it out, or to follow earlier ones: the instruction
     * is repeated. */
    ACCESS_AGAIN
};

#endif
