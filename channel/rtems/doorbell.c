/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the doorbells of channels. */
#include "channel/rtems.h"
#include <bsp.h>
#include <bsp/irq.h>
#include <dev/irq/arm-gic.h>

#define REST UINT64_C(1000000) /* nanoseconds */

void partition_waiter_init(struct partition_waiter *waiter)
{
    rtems_binary_semaphore_init(&waiter->rung, "doorbell");
    waiter->channels = NULL;
}

/* Interrupt context. The doorbell stays masked until the task waits again. The task may be on
 * another processor: the flag is cleared when the interrupt is masked, and before the post. */
static void handle_doorbell(void *argument)
{
    struct partition_channel *channel = argument;

    (void)rtems_interrupt_vector_disable(channel->vector);
    __atomic_store_n(&channel->is_armed, false, __ATOMIC_RELEASE);
    rtems_binary_semaphore_post(&channel->waiter->rung);
}

rtems_status_code partition_waiter_add(struct partition_waiter *waiter,
                                       struct partition_channel *channel)
{
    rtems_status_code status;

    channel->waiter = waiter;
    rtems_interrupt_entry_initialize(&channel->entry, handle_doorbell, channel, channel->name);
    /* RTEMS does not read the trigger from the devicetree. The interrupt is still disabled, as a
     * change of GICD_ICFGR requires (IHI 0069, GICD_ICFGR). */
    gic_id_set_trigger_mode(ARM_GIC_DIST, channel->vector, GIC_EDGE_TRIGGERED);
    status =
        rtems_interrupt_entry_install(channel->vector, RTEMS_INTERRUPT_UNIQUE, &channel->entry);
    if (status == RTEMS_SUCCESSFUL) {
        (void)rtems_interrupt_vector_disable(channel->vector);
        channel->next = waiter->channels;
        waiter->channels = channel;
    }
    return status;
}

void partition_waiter_prepare(void *waiter)
{
    struct partition_waiter *own = waiter;

    (void)rtems_binary_semaphore_try_wait(&own->rung);
    for (struct partition_channel *channel = own->channels; channel != NULL;
         channel = channel->next) {
        /* The flag is set first: the interrupt may come at once. */
        if (!__atomic_load_n(&channel->is_armed, __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&channel->is_armed, true, __ATOMIC_RELAXED);
            (void)rtems_interrupt_vector_enable(channel->vector);
        }
    }
}

/* Returns the ticks that pass until the deadline, at least 1. */
static uint32_t ticks_until(uint64_t deadline, uint64_t now)
{
    uint64_t tick = rtems_configuration_get_nanoseconds_per_tick();
    uint64_t ticks = (deadline - now - 1) / tick + 1;

    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

bool partition_waiter_sleep(void *waiter, uint64_t deadline)
{
    struct partition_waiter *own = waiter;
    uint64_t now;

    if (deadline == CHANNEL_FOREVER) {
        rtems_binary_semaphore_wait(&own->rung);
        return true;
    }
    now = rtems_clock_get_uptime_nanoseconds();
    if (now < deadline) {
        /* The first tick is not a whole one, so that the wait may end before the deadline. */
        (void)rtems_binary_semaphore_wait_timed_ticks(&own->rung, ticks_until(deadline, now));
    }
    /* Also if the doorbell rang: otherwise an end that rings again and again would keep the task
     * for ever. */
    return rtems_clock_get_uptime_nanoseconds() < deadline;
}

static bool has_passed(void *waiter, uint64_t deadline)
{
    (void)waiter;
    return deadline != CHANNEL_FOREVER && rtems_clock_get_uptime_nanoseconds() >= deadline;
}

/* The doorbells that rang stay masked. */
static bool rest(void *waiter, uint64_t deadline)
{
    uint64_t now = rtems_clock_get_uptime_nanoseconds(), end = now + REST;

    end = end < deadline ? end : deadline;
    if (now < end) {
        (void)rtems_task_wake_after(ticks_until(end, now));
    }
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
