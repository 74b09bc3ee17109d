/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeps until the doorbell of its channel rings, again and again, as shortly as it can. */
#include "kernel/application.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include <arch/cpu.h>
#include <arch/gic_cpu_interface.h>

#define NO_INTERRUPT 1020u /* IHI 0069, "Special INTIDs" */

int application_main(void)
{
    struct partition_channel channel;
    struct partition_waiter waiter;

    partition_waiter_init(&waiter);
    if (partition_channel_open(&channel, NULL) != RESULT_OK ||
        partition_waiter_add(&waiter, &channel) != RESULT_OK) {
        print("doorbells: there is no channel\n");
        return 1;
    }
    partition_waiter_prepare(&waiter); /* the doorbell's interrupt is not masked from now on */
    (void)arch_interrupts_save();
    for (;;) {
        uint32_t number;

        __asm__ volatile("wfi" : : : "memory");
        number = gic_cpu_acknowledge();
        if (number < NO_INTERRUPT) {
            gic_cpu_end(number);
        }
    }
}
