/* SPDX-License-Identifier: BSD-2-Clause */
#include "emulated_function/interrupt.h"

#include "gic/setup.h"
#include <arch/device_access.h>

uint32_t function_interrupt_bits(const struct emulated_function *function)
{
    return __atomic_load_n(&function->interrupt, __ATOMIC_RELAXED);
}

void function_interrupt_change(struct emulated_function *function, uint32_t clear, uint32_t set)
{
    uint32_t before = function_interrupt_bits(function);

    while (!__atomic_compare_exchange_n(&function->interrupt, &before, (before & ~clear) | set,
                                        false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    /* The guest looks for work for the last time afterwards, so the change has to be visible
     * before. */
    device_publish();
}

void function_interrupt_ring(struct emulated_function *function, const struct description *system,
                             uint32_t interrupt)
{
    uint32_t before, after;

    /* The guest enables its interrupt before it looks for work for the last time. So earlier writes
     * of this core have to be visible before the enable bit is read. */
    device_publish();
    before = function_interrupt_bits(function);
    do {
        if ((before & (FUNCTION_INTX_DISABLE | FUNCTION_ENABLE)) != FUNCTION_ENABLE) {
            return;
        }
        after = before | FUNCTION_STATUS;
        if ((before & FUNCTION_ONE_SHOT) != 0) {
            after &= ~FUNCTION_ENABLE;
        }
    } while (!__atomic_compare_exchange_n(&function->interrupt, &before, after, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    /* Made pending even if the guest has disabled the SPI in the Distributor, as Linux does while
     * it routes the SPI to another core. The SPI stays pending until the guest enables it again. */
    gic_make_pending(system, interrupt);
}
