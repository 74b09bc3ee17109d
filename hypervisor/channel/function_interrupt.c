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
    /* The guest checks the channel for the last time afterwards, so the change has to be visible
     * before. */
    device_publish();
}

void function_interrupt_ring(const struct end *end)
{
    uint32_t before, after;

    /* The other guest enables its interrupt before it checks the channel for the last time. So
     * earlier writes of this core have to be visible before the enable bit is read. */
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
    /* Made pending even if the guest has disabled the SPI in the Distributor, as Linux does while
     * it routes the SPI to another core. The SPI stays pending until the guest enables it again. */
    gic_make_pending(end->system, end_described(end)->interrupt);
}
