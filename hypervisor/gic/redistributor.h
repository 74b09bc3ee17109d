/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core's Redistributor as the partition sees it that the core belongs to: awake, without LPIs,
 * without the hypervisor's private interrupts.
 */
#ifndef HYPERVISOR_GIC_REDISTRIBUTOR_H
#define HYPERVISOR_GIC_REDISTRIBUTOR_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* RD frame and SGI frame. */
#define REDISTRIBUTOR_BYTES UINT64_C(0x20000)

/* `core` (the description's index) is one of the partition's; `offset` is from its RD frame, below
 * REDISTRIBUTOR_BYTES. Any core of the partition; several at the same time. */
enum access_result redistributor_access(struct partition *partition, uint32_t core,
                                        struct access *access);

#endif
