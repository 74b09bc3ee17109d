/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PCI function of a channel, for guests whose drivers find devices by PCI. It has the layout of
 * ivshmem version 2 (Jailhouse, "IVSHMEM Device Specification"): BAR 0 is a page of registers, of
 * which every access is a trap, and BAR 2 the region at its guest address. That is fixed, because
 * stage 2 is, so BAR 2 is given by enhanced allocation (PCI Express Base 4.0, 7.8.5). Guests that
 * do not know this find the address in the vendor-specific capability.
 *
 * The system file may leave out BAR 2 (DESCRIPTION_CHANNEL_FUNCTION_CONTROL), because guests map
 * BARs without caches. The address is still in the vendor-specific capability.
 *
 * Differences to the specification: Interrupt Status is implemented (function_interrupt.h). The
 * region of a one-way channel ends after section 0; its receiver's doorbell rings nobody, and its
 * receiver's state is always 0.
 *
 * The functions are on bus 0 of a PCI host of their own, which is in no hardware; the device number
 * is the index of the channel.
 */
#ifndef CHANNEL_FUNCTION_H
#define CHANNEL_FUNCTION_H

#include "channel/end.h"
#include "hypervisor/access.h"

/* Makes the function as at boot, if the end is one. */
void function_reset(const struct end *end);

/* Accesses the configuration space. `access->offset`: of the register, below 4096. The caller holds
 * functions_lock of the partition. */
enum access_result function_config_access(const struct end *end, struct access *access);

#endif
