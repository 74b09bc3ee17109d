/* SPDX-License-Identifier: BSD-2-Clause */
#include "decision.h"

#include "kernel/print.h"
#include "shared/reservation.h"
#include <arch/cpu.h>

#define CAPACITY  18u
#define DECISIONS 1000u
#define BUDGET    UINT64_C(1000)
#define PERIOD    UINT64_C(100000)

static struct sporadic_server servers[RESERVATION_LEVELS];

/* A decision: the VCPU that has executed is charged, the next one is chosen, and the time of the
 * next choice is found. Each VCPU executes until its budget ends, so all of them take turns. */
static void measure(unsigned vcpus)
{
    static struct reservation reservation;
    uint64_t interrupts = arch_interrupts_save(), now = 0, most = 0, sum = 0;
    unsigned executing, count = 0;

    reservation_init(&reservation);
    for (unsigned level = 0; level < vcpus; level++) {
        (void)sporadic_server_init(&servers[level], BUDGET, PERIOD, CAPACITY, 0);
        reservation_add(&reservation, level, &servers[level]);
        reservation_unblock(&reservation, level, 0);
    }
    executing = reservation_choose(&reservation, now);
    while (count < DECISIONS) {
        uint64_t next = reservation_next_choice(&reservation, executing, now), ticks;

        if (executing == RESERVATION_NONE) { /* the core sleeps until then */
            now = next;
            executing = reservation_choose(&reservation, now);
            continue;
        }
        ticks = arch_clock_ticks();
        reservation_charge(&reservation, executing, next - now, next);
        executing = reservation_choose(&reservation, next);
        (void)reservation_next_choice(&reservation, executing, next);
        ticks = arch_clock_ticks() - ticks;
        now = next;
        count++;
        sum += ticks;
        most = ticks > most ? ticks : most;
    }
    arch_interrupts_restore(interrupts);
    print("share: decision %u vcpus %llu of %u, most %llu.\n", vcpus, (unsigned long long)sum,
          DECISIONS, (unsigned long long)most);
}

void count_decisions(void)
{
    measure(2);
    measure(RESERVATION_LEVELS);
    print("share: end\n");
}
