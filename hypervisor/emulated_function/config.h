/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration space of an emulated PCI function (PCI Local Bus 3.0, 6.1): the header, with BAR 0
 * of one page and INTA, and capabilities of which only the one-shot bit of the first can be
 * written. */
#ifndef EMULATED_FUNCTION_CONFIG_H
#define EMULATED_FUNCTION_CONFIG_H

#include "emulated_function/state.h"
#include "hypervisor/access.h"

/* Offset of the vendor-specific capability, which is the first one, and fields of its first dword.
 * One-shot mode is as ivshmem's Privileged Control (Jailhouse, "IVSHMEM Device Specification"). */
#define FUNCTION_VENDOR              0x40u
#define FUNCTION_VENDOR_LENGTH_SHIFT 16u
#define FUNCTION_VENDOR_ONE_SHOT     (1u << 24)
#define FUNCTION_NEXT(capability)    ((capability) << 8)

#define FUNCTION_CAPABILITY_DWORDS 14u

/* The constant part of configuration space. All other registers read as 0. */
struct function_config {
    uint32_t ids;                                      /* device ID, vendor ID */
    uint32_t class_code;                               /* with the revision */
    uint32_t capabilities[FUNCTION_CAPABILITY_DWORDS]; /* from FUNCTION_VENDOR on */
};

/* Sets the function's registers as at boot. */
void function_config_reset(struct emulated_function *function);

/* Handles an access to configuration space. `access->offset`: of the register, below 4096. The
 * caller holds the lock of the partition's functions. */
enum access_result function_config_access(struct emulated_function *function,
                                          const struct function_config *config,
                                          struct access *access);

#endif
