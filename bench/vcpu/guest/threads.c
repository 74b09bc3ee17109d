/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads and VCPUs of all measurements. */
#include "kernel/time.h"
#include "vcpu_bench.h"
#include "work.h"
#include <string.h>

#define STACK_BYTES 4096u

int make_vcpu(const char *name, enum vcpu_policy policy, uint64_t budget, uint64_t period)
{
    struct vcpu_param param = {.policy = policy,
                               .C = budget * NANOSECONDS_PER_MICROSECOND,
                               .T = period * NANOSECONDS_PER_MICROSECOND};
    int id;

    (void)strncpy(param.name, name, sizeof(param.name) - 1);
    id = vcpu_create(&param);
    if (id <= 0) {
        fail(result_text((enum result) - id));
    }
    return id;
}

struct thread *start_thread(const char *name, unsigned priority, int vcpu,
                            void (*entry)(void *argument), void *argument)
{
    const struct thread_attributes attributes = {
        .name = name, .priority = priority, .stack_bytes = STACK_BYTES};
    struct thread *thread;

    if (thread_create(&thread, &attributes, entry, argument) != RESULT_OK ||
        vcpu_bind_thread(thread, vcpu) != 0) {
        fail("thread");
    }
    return thread;
}

static void spin(void *argument)
{
    (void)argument;
    for (;;) {
        work(UINT32_MAX);
    }
}

void start_spinning(unsigned priority, int vcpu)
{
    thread_detach(start_thread("spinning", priority, vcpu, spin, NULL));
}
