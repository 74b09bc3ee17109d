/* SPDX-License-Identifier: BSD-2-Clause */
/* The work of a back-end's calls, however it makes them: by hypercalls
 * (hypercall/shared_device.h), or by the registers of a PCI function (shared_device/function.h). */
#ifndef SHARED_DEVICE_BACKEND_CALL_H
#define SHARED_DEVICE_BACKEND_CALL_H

#include "hypervisor/description.h"
#include <stdint.h>

/* Executes CALL_SHARED_DEVICE_INTERRUPT to CALL_SHARED_DEVICE_FAIL. `index`: of the device, of
 * which the caller's partition is the back-end. `argument`: W2. `value`: X3. Returns X0:
 * CALL_NOT_SUPPORTED for another function, or if the bytes of CALL_SHARED_DEVICE_CONFIGURE are not
 * in the configuration space. Takes the device's lock. Any core of the back-end's partition. */
int64_t backend_call(const struct description *system, uint32_t index, uint32_t function,
                     uint32_t argument, uint64_t value);

/* The back-end accesses no ring until it acknowledges a generation again, as at the begin of a
 * life: no driver waits for it. Takes the device's lock. Any core of the back-end's partition. */
void backend_release(const struct description *system, uint32_t index);

#endif
