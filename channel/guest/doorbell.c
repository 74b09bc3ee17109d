/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the doorbells of channels. */
#include "adapter.h"

#define REST_NS UINT64_C(1000000)

void partition_waiter_init(struct partition_waiter *waiter)
{
    guest_init_signal(&waiter->rung);
    waiter->channels = NULL;
}

bool partition_channel_is_armed(const struct partition_channel *channel)
{
    return guest_load_flag(&channel->is_armed);
}

/* Interrupt context. The doorbell stays masked until the thread waits again. The thread may be on
 * another processor: the flag is cleared when the interrupt is masked, and before the post. */
static void handle_doorbell(void *argument)
{
    struct partition_channel *channel = argument;

    guest_trace_doorbell(channel);
    guest_mask_interrupt(&channel->interrupt);
    guest_store_flag(&channel->is_armed, false);
    guest_post_signal(&channel->waiter->rung);
}

guest_status partition_waiter_add(struct partition_waiter *waiter,
                                  struct partition_channel *channel)
{
    guest_status status;

    if (!channel->has_interrupt) {
        return GUEST_NO_INTERRUPT;
    }
    channel->waiter = waiter;
    status = guest_attach_interrupt(&channel->interrupt, channel->name, handle_doorbell, channel);
    if (status == GUEST_OK) {
        channel->is_armed = false;
        channel->next = waiter->channels;
        waiter->channels = channel;
    }
    return status;
}

void partition_waiter_prepare(void *waiter)
{
    struct partition_waiter *own = waiter;

    guest_clear_signal(&own->rung);
    for (struct partition_channel *channel = own->channels; channel != NULL;
         channel = channel->next) {
        /* The flag is set first: the interrupt may come at once. */
        if (!partition_channel_is_armed(channel)) {
            guest_store_flag(&channel->is_armed, true);
            guest_unmask_interrupt(&channel->interrupt);
        }
    }
}

static bool has_passed(void *waiter, uint64_t deadline)
{
    (void)waiter;
    return deadline != CHANNEL_FOREVER && guest_now() >= deadline;
}

bool partition_waiter_sleep(void *waiter, uint64_t deadline)
{
    struct partition_waiter *own = waiter;

    for (const struct partition_channel *channel = own->channels; channel != NULL;
         channel = channel->next) {
        guest_trace_sleep(channel);
    }
    /* The clock counts even if a doorbell rang: otherwise an end that rings again and again would
     * keep the thread for ever. */
    return guest_wait_for_signal(&own->rung, deadline) && !has_passed(own, deadline);
}

/* The doorbells that rang stay masked. */
static bool rest(void *waiter, uint64_t deadline)
{
    uint64_t end = guest_now() + REST_NS;

    guest_sleep_until(end < deadline ? end : deadline);
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
