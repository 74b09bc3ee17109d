/* SPDX-License-Identifier: BSD-2-Clause */
/* The PCI function of a shared device in its back-end (arch/shared_device_function.h), for a
 * back-end that is a process of its guest's operating system. */
#ifndef SHARED_DEVICE_FUNCTION_H
#define SHARED_DEVICE_FUNCTION_H

#include "emulated_function/state.h"
#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* Returns true if the partition is the back-end of the shared device, and has its function.
 * `index`: in the description, any number. */
bool shared_device_has_function(const struct partition *partition, uint64_t index);

/* Returns the state of the device's function, which it need not have. */
struct emulated_function *shared_device_function(const struct description_shared_device *device);

/* The other functions are for a device of which shared_device_has_function() returns true. */

/* Handles an access to the function's configuration space. `access->offset`: of the register, below
 * 4096. The caller holds the lock of the partition's functions. */
enum access_result shared_device_function_config(const struct partition *partition, uint32_t index,
                                                 struct access *access);

/* Handles an access to BAR 0. `access->offset`: of the register, below 4096. Returns ACCESS_REFUSED
 * for a register that does not exist, for an access of another size than 32 bits, and for bytes
 * that are not in the configuration space. Any core of the partition. */
enum access_result shared_device_function_register(const struct partition *partition,
                                                   uint32_t index, struct access *access);

/* Returns true if the 2 MiB block of the address has a part of the device's page or windows. */
bool shared_device_function_is_near(const struct description_shared_device *device,
                                    uint64_t address);

#endif
