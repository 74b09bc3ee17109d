/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of the case `restart` of ./bulkhead bench recovery: a program with the network, which
 * restarts in each of its lives: it resets itself or, with the boot argument cause=violation,
 * accesses memory that it does not have. It prints beforehand at which tick of the counter it does
 * so, and then waits until the console has sent the line, so that nothing is printed between that
 * instant and the restart.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/network.h"
#include "kernel/panic.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "violation.h"
#include <arch/cpu.h>
#include <string.h>

#define QUIET_MS 5u

static bool is_violation(void)
{
    char cause[16];

    return boot_argument("cause", cause, sizeof(cause)) && strcmp(cause, "violation") == 0 &&
           violation_prepare();
}

int application_main(void)
{
    uint64_t ticks_a_second = arch_clock_frequency(), begin = time_now(), now = arch_clock_ticks();
    uint64_t end = now + ticks_a_second / 1000 * QUIET_MS;
    bool violates = is_violation();

    print("recovery: at %llu ns and tick %llu of %llu a second, resets at tick %llu\n",
          (unsigned long long)begin, (unsigned long long)now, (unsigned long long)ticks_a_second,
          (unsigned long long)end);
    if (network_start() != RESULT_OK) {
        print("recovery: no network\n");
    }
    while (arch_clock_ticks() < end) {
    }
    if (violates) {
        violation_make();
    }
    machine_restart();
}
