/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared_device/locked.h"

#include "emulated_function/interrupt.h"
#include "gic/doorbell.h"
#include "gic/setup.h"
#include <arch/device_access.h>

void locked_device_take(struct locked_device *locked, const struct description *system,
                        uint32_t index)
{
    const struct description_shared_device *described = &system->shared_devices[index];
    uintptr_t page = (uintptr_t)described->physical;

    locked->system = system;
    locked->described = described;
    locked->state = (struct shared_device_state *)(page + DESCRIPTION_PAGE_BYTES);
    locked->kind = (struct shared_device_kind){
        .features = described->features,
        .required = described->required,
        .device_id = described->device_id,
        .queue_count = described->queue_count,
        .queue_size_max = described->queue_size_max,
        .config_bytes = described->config_bytes,
    };
    locked->device = (struct shared_device){
        .kind = &locked->kind,
        .registers = &locked->state->registers,
        .page = (struct shared_device_page *)page,
    };
    ticket_lock_take(&locked->state->lock, TICKET_LOCK_PATIENCE);
}

void locked_device_give(const struct locked_device *locked)
{
    ticket_lock_give(&locked->state->lock);
}

bool locked_device_has_stopped(const struct locked_device *locked)
{
    return locked->state->serves == 0 ||
           locked->state->acknowledged == locked->device.page->generation;
}

void locked_device_ring(const struct locked_device *locked)
{
    const struct description_shared_device *described = locked->described;

    if (described->function != 0) {
        function_interrupt_ring(&locked->state->function, locked->system, described->doorbell);
    } else {
        doorbell_ring(locked->system, described->doorbell);
    }
}

void locked_device_tell_driver(const struct locked_device *locked, uint32_t before)
{
    if (before == 0 && locked->state->registers.interrupt_status != 0) {
        device_publish(); /* the driver reads the rings and the status after the interrupt */
        gic_make_pending(locked->system, locked->described->interrupt);
    }
}
