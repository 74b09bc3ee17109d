/* SPDX-License-Identifier: BSD-2-Clause */
/* See lock.h. RTEMS's interrupt locks do not nest, so depth and owner are kept here. */
#include "lock.h"
#include <rtems.h>
#include <stdatomic.h>

#define NOBODY UINT32_MAX

static struct {
    atomic_uint owner; /* processor; NOBODY */
    unsigned depth;    /* the owner's */
} lock = {.owner = NOBODY};

uint64_t virtio_rtems_lock(void)
{
    rtems_interrupt_level level;
    unsigned self;
    unsigned expected = NOBODY;

    rtems_interrupt_local_disable(level);
    self = rtems_scheduler_get_processor();
    if (atomic_load_explicit(&lock.owner, memory_order_relaxed) != self) {
        while (!atomic_compare_exchange_weak_explicit(&lock.owner, &expected, self,
                                                      memory_order_acquire, memory_order_relaxed)) {
            expected = NOBODY;
        }
    }
    lock.depth++;
    return level;
}

void virtio_rtems_unlock(uint64_t state)
{
    rtems_interrupt_level level = (rtems_interrupt_level)state;

    if (--lock.depth == 0) {
        atomic_store_explicit(&lock.owner, NOBODY, memory_order_release);
    }
    rtems_interrupt_local_enable(level);
}
