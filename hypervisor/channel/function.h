/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PCI function of a channel, for guests whose drivers find devices by PCI. Its layout is that
 * of ivshmem version 2 (Jailhouse, "IVSHMEM Device Specification"): BAR 0 is a page of registers,
 * to which every access traps, and BAR 2 is the region at its guest address. Stage 2 fixes this
 * address, so enhanced allocation declares BAR 2 (PCI Express Base 4.0, 7.8.5). Guests that do not
 * know enhanced allocation find the address in the vendor-specific capability.
 *
 * The system file may omit BAR 2 (DESCRIPTION_CHANNEL_FUNCTION_CONTROL), because guests map BARs
 * without caches. The vendor-specific capability has the address all the same.
 *
 * The system file chooses the size of the common read-write section.
 *
 * Differences from the specification: Interrupt Status is implemented
 * (emulated_function/interrupt.h). The region of a one-way channel ends after section 0. Its
 * receiver's doorbell has no effect, and its receiver's state is always 0.
 */
#ifndef CHANNEL_FUNCTION_H
#define CHANNEL_FUNCTION_H

#include "channel/end.h"
#include "hypervisor/access.h"

/* Finds the partition's end of a channel. Returns false if there is none, or if it is not a PCI
 * function. `index`: of the channel, any number. */
bool channel_function_find(const struct partition *partition, uint32_t index, struct end *end);

/* Handles an access to the function's configuration space. `access->offset`: of the register, below
 * 4096. The caller holds the lock of the partition's functions. */
enum access_result channel_function_config(const struct end *end, struct access *access);

/* Handles an access to BAR 0. `access->offset`: of the register, below 4096. Returns ACCESS_REFUSED
 * for a register that does not exist, or an access of another size than 32 bits. */
enum access_result channel_function_register(const struct end *end, struct access *access);

/* Returns true if the 2 MiB block of the address has a part of the channel's region. */
bool channel_function_is_near(const struct end *end, uint64_t address);

#endif
