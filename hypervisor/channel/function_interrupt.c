/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/function_interrupt.h"

#include "gic/setup.h"
#include <arch/device_access.h>

static uint32_t *bits_of(const struct end *end)
{
    return &end_function(end)->interrupt;
}

uint32_t function_interrupt_bits(const struct end *end)
{
    return __atomic_load_n(bits_of(end), __ATOMIC_RELAXED);
}

void function_interrupt_change(const struct end *end, uint32_t clear, uint32_t set)
{
    uint32_t before = function_interrupt_bits(end);

    while (!__atomic_compare_exchange_n(bits_of(end), &before, (before & ~clear) | set, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    /* The guest looks at the channel afterwards. */
    device_publish();
}

void function_interrupt_ring(const struct end *end)
{
    uint32_t before, after;

    /* The other guest enables its interrupt before it looks at the channel for the last time. So
     * what this core has written has to be visible before the enable is read. */
    device_publish();
    before = function_interrupt_bits(end);
    do {
        if ((before & (FUNCTION_INTX_DISABLE | FUNCTION_ENABLE)) != FUNCTION_ENABLE) {
            return;
        }
        after = before | FUNCTION_STATUS;
        if ((before & FUNCTION_ONE_SHOT) != 0) {
            after &= ~FUNCTION_ENABLE;
        }
    } while (!__atomic_compare_exchange_n(bits_of(end), &before, after, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    /* Also if the guest masks the SPI at the distributor, as Linux does while it routes it to
     * another core. It stays pending until then. */
    gic_make_pending(end->system, end_described(end)->interrupt);
}
