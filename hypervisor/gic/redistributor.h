/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redistributors as a partition sees them: those of its own cores, awake, without LPIs, without the
 * hypervisor's private interrupts. Its n-th core's is where the machine has its n-th, as on a
 * machine with so many cores.
 */
#ifndef HYPERVISOR_GIC_REDISTRIBUTOR_H
#define HYPERVISOR_GIC_REDISTRIBUTOR_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* RD frame and SGI frame. */
#define REDISTRIBUTOR_BYTES UINT64_C(0x20000)

/* `address` is a guest's, and instead of the offset: that is set here, from the frame's first
 * register. ACCESS_FORBIDDEN: no frame is there. Any core of the partition; several at the same
 * time. */
enum access_result redistributor_access(const struct partition *partition, uint64_t address,
                                        struct access *access);

#endif
