/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells of channels: SPIs that no device uses, which monitors make pending for the partition of
 * the other end. */
#ifndef GIC_DOORBELL_H
#define GIC_DOORBELL_H

#include "hypervisor/description.h"

/* Makes the SPI pending if its partition has enabled it, also while it is active: the thread that
 * waits may be on another core than the handler that runs. The GIC signals it like one of a device,
 * directly or to the monitor that lists it. So a partition that enables it only while it waits gets
 * one interrupt for any number of calls. `interrupt`: INTID; 0: none. Any core; the partition's
 * guest, once it is interrupted, sees all that this core wrote before. */
void doorbell_ring(const struct description *system, uint32_t interrupt);

#endif
