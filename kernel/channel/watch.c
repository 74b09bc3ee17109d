/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches channels: waits without a doorbell, on the thread's own processor. */
#include "kernel/partition_channel.h"
#include "kernel/time.h"
#include <arch/wait.h>

static void wait_for_store(void *context, const uint64_t *word, uint64_t value)
{
    (void)context;
    if (word != NULL) {
        arch_wait_for_store(word, value);
    } else {
        arch_yield();
    }
}

static void poll(void *context, const uint64_t *word, uint64_t value)
{
    (void)context;
    (void)word;
    (void)value;
    arch_yield();
}

static bool has_passed(void *context, uint64_t deadline)
{
    (void)context;
    return deadline != DEADLINE_NONE && time_now() >= deadline;
}

struct channel_watcher partition_channel_watcher(const struct partition_channel *channel)
{
    return (struct channel_watcher){
        .pause = channel->is_uncached ? poll : wait_for_store,
        .has_passed = has_passed,
    };
}
