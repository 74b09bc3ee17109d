/* SPDX-License-Identifier: BSD-2-Clause */
/* The hypervisor's state of a shared device: a page that no guest has, behind the device's page.
 * The monitors of the client and of the back-end map both. */
#ifndef SHARED_DEVICE_STATE_H
#define SHARED_DEVICE_STATE_H

#include "emulated_function/state.h"
#include "hypervisor/description.h"
#include "hypervisor/ticket_lock.h"
#include "shared_device/registers.h"
#include <arch/shared_device.h>
#include <stdint.h>

#define SHARED_DEVICE_BYTES (2 * DESCRIPTION_PAGE_BYTES) /* of both pages */

/* `lock` protects all else of both pages but `function` and `value`. A holder executes a bounded
 * number of instructions. */
struct shared_device_state {
    struct ticket_lock lock;
    /* 1: the back-end has acknowledged a generation in its present life. A back-end does so before
     * it accesses any ring, so until then nothing has to be waited for. */
    uint32_t serves;
    uint32_t acknowledged; /* the generation of the device that it acknowledged last */
    struct shared_device_registers registers;
    struct emulated_function function; /* of the back-end; all zero if it has none */
    uint32_t value[2];                 /* its registers VALUE_LOW and VALUE_HIGH */
};

_Static_assert(sizeof(struct shared_device_page) <= DESCRIPTION_PAGE_BYTES, "must fit one page");
_Static_assert(sizeof(struct shared_device_state) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

#endif
