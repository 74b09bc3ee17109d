/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A partition's PCI host for channels, which exists only in software. The functions are on its bus
 * 0: that of a channel has the index of the channel as its device number, that of a shared device
 * FUNCTION_HOST_SHARED_DEVICES and the index of the shared device.
 *
 * Images without channels have absent.c instead of host.c, whose functions have no effect.
 */
#ifndef EMULATED_FUNCTION_HOST_H
#define EMULATED_FUNCTION_HOST_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

#define FUNCTION_HOST_SHARED_DEVICES DESCRIPTION_CHANNELS_MAX

/* Handles an access to the partition's PCI host for channels. `address`: guest address. Returns
 * false if the host does not contain the address. Otherwise sets *result and returns true: an
 * access to a register that does not exist is ACCESS_REFUSED, and reads as ones in the
 * configuration space or the window, as zero in the page of a function's BAR 0. Any core of the
 * partition. */
bool function_host_access(struct partition *partition, uint64_t address, struct access *access,
                          enum access_result *result);

/* Returns true if the guest may have given the address to a process without rights, as a part of a
 * channel or shared device that the partition sees as a PCI function. These are the PCI host for
 * channels, and the blocks of 2 MiB that contain a part of a region of such a function: Linux maps
 * whole pages of up to 64 KiB for a BAR, and a DAX device begins and ends with such a block.
 * `address`: guest address. Any core of the partition. */
bool function_host_has_near(const struct partition *partition, uint64_t address);

/* Returns true if the address is in a block of 2 MiB that contains a part of the region.
 * bytes > 0. */
bool function_host_is_near(uint64_t start, uint64_t bytes, uint64_t address);

/* Answers a read with the first bytes of `value`. Returns ACCESS_REFUSED. */
enum access_result function_host_refuse(struct access *access, uint64_t value);

#endif
