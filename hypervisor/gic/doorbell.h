/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells of channels: SPIs that no device uses. The monitor of one end makes the doorbell of the
 * other end pending. */
#ifndef GIC_DOORBELL_H
#define GIC_DOORBELL_H

#include "hypervisor/description.h"

/* Makes the SPI pending if its partition has enabled it. It is made pending also while it is
 * active, because the thread that waits may be on another core than the running handler. The GIC
 * signals it like the SPI of a device, directly or to the monitor that lists it. A partition that
 * enables it only while it waits gets one interrupt for any number of calls. `interrupt`: INTID; 0:
 * no effect. Any core. The interrupted guest sees everything that this core wrote before. */
void doorbell_ring(const struct description *system, uint32_t interrupt);

#endif
