/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the doorbells of channels. */
#include "kernel/interrupt.h"
#include "kernel/partition_channel.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/trace.h"

void partition_waiter_init(struct partition_waiter *waiter)
{
    semaphore_init(&waiter->rung, 0, 1);
    waiter->channels = NULL;
}

/* Interrupt context. The doorbell stays masked until the thread waits again. */
static void handle_doorbell(void *argument)
{
    struct partition_channel *channel = argument;

    trace_channel_doorbell(channel->index);
    (void)interrupt_mask(channel->interrupt);
    channel->is_armed = false;
    (void)semaphore_post(&channel->waiter->rung); /* one post is enough: RESULT_OVERFLOW */
}

enum result partition_waiter_add(struct partition_waiter *waiter, struct partition_channel *channel)
{
    enum result result = RESULT_UNSUPPORTED;

    if (!channel->has_interrupt) {
        return result;
    }
    channel->waiter = waiter;
    result = interrupt_attach(channel->interrupt, INTERRUPT_EDGE, handle_doorbell, channel);
    if (result == RESULT_OK) {
        (void)interrupt_mask(channel->interrupt);
        channel->is_armed = false;
        channel->next = waiter->channels;
        waiter->channels = channel;
    }
    return result;
}

void partition_waiter_prepare(void *waiter)
{
    struct partition_waiter *own = waiter;

    (void)semaphore_wait(&own->rung, DEADLINE_POLL);
    for (struct partition_channel *channel = own->channels; channel != NULL;
         channel = channel->next) {
        /* The flag is set first: the interrupt may come at once. */
        if (!channel->is_armed) {
            channel->is_armed = true;
            (void)interrupt_unmask(channel->interrupt);
        }
    }
}

static void trace_sleep(const struct partition_waiter *waiter)
{
    interrupt_state state = interrupts_save();

    for (const struct partition_channel *channel = waiter->channels; channel != NULL;
         channel = channel->next) {
        trace_channel_sleep(channel->index);
    }
    interrupts_restore(state);
}

bool partition_waiter_sleep(void *waiter, uint64_t deadline)
{
    struct partition_waiter *own = waiter;
    bool is_rung;

    trace_sleep(own);
    is_rung = semaphore_wait(&own->rung, deadline) == RESULT_OK;

    /* Otherwise an end that rings again and again would keep the thread for ever. */
    return is_rung && (deadline == DEADLINE_NONE || time_now() < deadline);
}

static bool has_passed(void *waiter, uint64_t deadline)
{
    (void)waiter;
    return deadline != DEADLINE_NONE && time_now() >= deadline;
}

/* The doorbells that rang stay masked. */
static bool rest(void *waiter, uint64_t deadline)
{
    uint64_t end = time_after(NANOSECONDS_PER_MILLISECOND);

    thread_sleep_until(end < deadline ? end : deadline);
    return !has_passed(waiter, deadline);
}

struct channel_sleeper partition_waiter_sleeper(struct partition_waiter *waiter)
{
    return (struct channel_sleeper){
        .context = waiter,
        .prepare = partition_waiter_prepare,
        .sleep = partition_waiter_sleep,
        .rest = rest,
        .has_passed = has_passed,
    };
}
