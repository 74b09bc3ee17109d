/* SPDX-License-Identifier: BSD-2-Clause */
/* The real-time loop on the VCPU of the highest priority. */
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "vcpu_bench.h"

static uint64_t loop_now(void)
{
    return time_now();
}

static void loop_sleep_until(uint64_t time)
{
    thread_sleep_until(time);
}

#define loop_print print
#include "loop.h"

/* Microseconds. The loop works half of its budget. */
#define LOOP_BUDGET      2000u
#define LOOP_VCPU_PERIOD 10000u
#define NETWORK_BUDGET   10000u
#define NETWORK_PERIOD   100000u
#define SPINNING_BUDGET  20000u
#define SPINNING_PERIOD  100000u

static struct {
    uint32_t periods;
    struct loop_result result;
} loop;

static void run(void *argument)
{
    (void)argument;
    loop_run(loop_now() + LOOP_PERIOD, loop.periods, &loop.result);
}

static void run_on(int vcpu, const char *name)
{
    uint64_t frames = received_frames();
    struct thread *thread = start_thread("loop", PRIORITY_WITHOUT_BUDGET, vcpu, run, NULL);

    if (thread_join(thread, DEADLINE_NONE) != RESULT_OK) {
        fail("join");
    }
    loop_report(name, &loop.result, received_frames() - frames);
}

void measure_wake_ups(void)
{
    int vcpu = make_vcpu("loop", SCHED_SPORADIC, LOOP_BUDGET, LOOP_VCPU_PERIOD);
    int spinning = make_vcpu("spinning", SCHED_SPORADIC, SPINNING_BUDGET, SPINNING_PERIOD);

    loop.periods = (uint32_t)boot_argument_number("periods", 100, 1, 1000000);
    start_network(make_vcpu("network", SCHED_PIBS, NETWORK_BUDGET, NETWORK_PERIOD));
    run_on(vcpu, "vcpu quiet");
    start_spinning(PRIORITY_SPINNING, spinning);
    wait_for_flood();
    run_on(vcpu, "vcpu flood");
}
