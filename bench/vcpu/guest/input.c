/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames that a flooded network handles on the budget of its I/O VCPU. */
#include "kernel/print.h"
#include "kernel/time.h"
#include "vcpu_bench.h"
#include <arch/cpu.h>

#define PERIOD       UINT64_C(10000) /* microseconds */
#define ONE_PER_CENT (PERIOD / 100)

/* Reads the counter again and again, because the emulator takes longer for that than for other
 * instructions. So more frames arrive in the same number of instructions. */
static void read_counter(void *argument)
{
    (void)argument;
    for (;;) {
        (void)arch_clock_ticks();
    }
}

static struct vcpu_statistics statistics_of(int vcpu)
{
    static struct vcpu_statistics all[VCPU_MAX];
    size_t count = vcpu_statistics(all, VCPU_MAX);

    for (size_t i = 0; i < count; i++) {
        if (all[i].param.id == vcpu) {
            return all[i];
        }
    }
    fail("no such VCPU");
}

void measure_input(unsigned percent, uint64_t milliseconds)
{
    int vcpu = make_vcpu("network", SCHED_PIBS, percent * ONE_PER_CENT, PERIOD);
    struct vcpu_statistics before;
    struct vcpu_statistics after;
    uint64_t frames;
    uint64_t start;

    start_network(vcpu);
    /* As the more urgent thread of this VCPU, it runs even while the network could use all time. */
    if (vcpu_bind_task(vcpu) != 0) {
        fail("binding");
    }
    wait_for_flood();
    /* Runs whenever the network has no budget. */
    thread_detach(start_thread("counter", PRIORITY_ABOVE_NETWORK, 0, read_counter, NULL));
    thread_sleep_until(time_after(100 * NANOSECONDS_PER_MILLISECOND));
    before = statistics_of(vcpu);
    frames = received_frames();
    start = time_now();
    thread_sleep_until(time_after(milliseconds * NANOSECONDS_PER_MILLISECOND));
    after = statistics_of(vcpu);
    print("vcpu: input %u frames %llu received %llu background %llu of %llu exhaustions %llu\n",
          percent, (unsigned long long)(received_frames() - frames),
          (unsigned long long)(after.received_nanoseconds - before.received_nanoseconds),
          (unsigned long long)(after.background_nanoseconds - before.background_nanoseconds),
          (unsigned long long)(time_now() - start),
          (unsigned long long)(after.exhaustions - before.exhaustions));
}
