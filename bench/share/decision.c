/* SPDX-License-Identifier: BSD-2-Clause */
#include "decision.h"

#include "kernel/print.h"
#include "scheduler/credit.h"
#include "scheduler/reservation.h"
#include <arch/cpu.h>

#define CAPACITY  18u
#define DECISIONS 1000u
#define BUDGET    UINT64_C(1000)
#define PERIOD    UINT64_C(100000)
#define QUANTUM   UINT64_C(1000)
#define WEIGHT    256u

static union reservation_server servers[RESERVATION_LEVELS];

static void report(const char *scheduler, unsigned vcpus, uint64_t sum, uint64_t most)
{
    print("share: %s decision %u vcpus %llu of %u, most %llu.\n", scheduler, vcpus,
          (unsigned long long)sum, DECISIONS, (unsigned long long)most);
}

/* A decision: the VCPU that has executed is charged, the next one is chosen, and the time of the
 * next choice is found. Each VCPU executes until its budget ends, so all of them take turns. The
 * choice at the end of a sleep, when many VCPUs get budget at once, counts as a part of the
 * decision before it. */
static void measure_reservation(unsigned vcpus)
{
    static struct reservation reservation;
    uint64_t interrupts = arch_interrupts_save(), now = 0, most = 0, sum = 0;
    unsigned executing, count = 0;

    reservation_init(&reservation);
    for (unsigned level = 0; level < vcpus; level++) {
        (void)sporadic_server_init(&servers[level].main, BUDGET, PERIOD, CAPACITY, 0);
        reservation_add(&reservation, level, &servers[level]);
        reservation_unblock(&reservation, level, 0);
    }
    executing = reservation_choose(&reservation, now);
    while (count < DECISIONS) {
        uint64_t next = reservation_next_choice(&reservation, executing, now), ticks;

        if (executing == RESERVATION_NONE) { /* the core sleeps until then */
            now = next;
            ticks = arch_clock_ticks();
            executing = reservation_choose(&reservation, now);
            sum += arch_clock_ticks() - ticks;
            continue;
        }
        ticks = arch_clock_ticks();
        reservation_charge(&reservation, executing, next - now, next, UINT64_MAX);
        executing = reservation_choose(&reservation, next);
        (void)reservation_next_choice(&reservation, executing, next);
        ticks = arch_clock_ticks() - ticks;
        now = next;
        count++;
        sum += ticks;
        most = ticks > most ? ticks : most;
    }
    arch_interrupts_restore(interrupts);
    report("reservation", vcpus, sum, most);
}

/* The same steps of the scheduler by weights. All VCPUs always have work, and each executes until
 * its turn ends. */
static void measure_credit(unsigned vcpus)
{
    static struct credit credit;
    uint64_t interrupts = arch_interrupts_save(), now = 0, most = 0, sum = 0;
    unsigned executing;

    credit_init(&credit, QUANTUM);
    for (unsigned place = 0; place < vcpus; place++) {
        credit_add(&credit, place, WEIGHT);
        credit_unblock(&credit, place);
    }
    executing = credit_choose(&credit, now);
    for (unsigned count = 0; count < DECISIONS; count++) {
        uint64_t next = credit_next_choice(&credit, executing, now), ticks;

        ticks = arch_clock_ticks();
        credit_charge(&credit, executing, next - now, next);
        executing = credit_choose(&credit, next);
        (void)credit_next_choice(&credit, executing, next);
        ticks = arch_clock_ticks() - ticks;
        now = next;
        sum += ticks;
        most = ticks > most ? ticks : most;
    }
    arch_interrupts_restore(interrupts);
    report("credit", vcpus, sum, most);
}

void count_decisions(void)
{
    measure_reservation(2);
    measure_reservation(RESERVATION_LEVELS);
    measure_credit(2);
    measure_credit(CREDIT_PLACES);
    print("share: end\n");
}
