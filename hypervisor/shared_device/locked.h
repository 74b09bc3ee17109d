/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared device whose lock the caller holds. The files of this folder share these
 * declarations. */
#ifndef SHARED_DEVICE_LOCKED_H
#define SHARED_DEVICE_LOCKED_H

#include "hypervisor/description.h"
#include "shared_device/state.h"
#include <stdbool.h>

struct locked_device {
    const struct description *system;
    const struct description_shared_device *described;
    struct shared_device_state *state;
    struct shared_device_kind kind;
    struct shared_device device; /* refers to `kind` */
};

/* Takes the lock of a shared device, and fills in *locked. `index`: of the device in the
 * description. On a core of its client or its back-end. */
void locked_device_take(struct locked_device *locked, const struct description *system,
                        uint32_t index);

void locked_device_give(const struct locked_device *locked);

/* Returns true if the back-end accesses no ring of an earlier generation: it has acknowledged the
 * present one, or does not serve the device. */
bool locked_device_has_stopped(const struct locked_device *locked);

/* Rings the back-end's doorbell. Not while the lock is held: after locked_device_give(). */
void locked_device_ring(const struct locked_device *locked);

/* Makes the driver's interrupt pending, unless it has been told and has not acknowledged it. Also
 * if the guest has disabled the SPI, as Linux does while it routes it to another core: it is an
 * edge, which would be lost. `before`: the interrupt status before the change of the caller. */
void locked_device_tell_driver(const struct locked_device *locked, uint32_t before);

#endif
