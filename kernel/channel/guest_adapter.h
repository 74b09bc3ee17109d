/* SPDX-License-Identifier: BSD-2-Clause */
/* Our kernel, for channel/guest/. A partition of it has one processor. */
#ifndef GUEST_ADAPTER_H
#define GUEST_ADAPTER_H

#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/trace.h"
#include <arch/mmu.h>

_Static_assert(CHANNEL_FOREVER == DEADLINE_NONE, "the library and the kernel have one deadline");

static inline guest_status guest_open_devicetree(void)
{
    return GUEST_OK;
}

static inline int guest_next_node(int previous, const char *compatible)
{
    return devicetree_next_compatible(previous, compatible);
}

static inline const void *guest_property(int node, const char *name, unsigned *bytes)
{
    return devicetree_property(node, name, bytes);
}

static inline bool guest_read_region(int node, uint64_t *address, uint64_t *bytes)
{
    return devicetree_reg(node, 0, address, bytes) == RESULT_OK;
}

static inline bool guest_read_interrupt(int node, struct guest_interrupt *interrupt)
{
    enum interrupt_trigger trigger;

    return devicetree_interrupt(node, 0, &interrupt->number, &trigger) == RESULT_OK &&
           trigger == INTERRUPT_EDGE;
}

static inline guest_status guest_map_memory(uint64_t address, uint64_t bytes, bool is_writable)
{
    return is_writable ? arch_mmu_map_memory(address, (size_t)bytes)
                       : arch_mmu_map_constants(address, (size_t)bytes);
}

static inline guest_status guest_attach_interrupt(struct guest_interrupt *interrupt,
                                                  const char *name, void (*handler)(void *argument),
                                                  void *argument)
{
    enum result result = interrupt_attach(interrupt->number, INTERRUPT_EDGE, handler, argument);

    (void)name;
    if (result == RESULT_OK) {
        (void)interrupt_mask(interrupt->number);
    }
    return result;
}

static inline void guest_mask_interrupt(const struct guest_interrupt *interrupt)
{
    (void)interrupt_mask(interrupt->number);
}

static inline void guest_unmask_interrupt(const struct guest_interrupt *interrupt)
{
    (void)interrupt_unmask(interrupt->number);
}

static inline bool guest_load_flag(const bool *flag)
{
    return *(const volatile bool *)flag;
}

static inline void guest_store_flag(bool *flag, bool value)
{
    *(volatile bool *)flag = value;
}

static inline void guest_init_signal(struct guest_signal *signal)
{
    semaphore_init(&signal->semaphore, 0, 1);
}

static inline void guest_post_signal(struct guest_signal *signal)
{
    (void)semaphore_post(&signal->semaphore); /* one post is enough: RESULT_OVERFLOW */
}

static inline void guest_clear_signal(struct guest_signal *signal)
{
    (void)semaphore_wait(&signal->semaphore, DEADLINE_POLL);
}

static inline bool guest_wait_for_signal(struct guest_signal *signal, uint64_t deadline)
{
    return semaphore_wait(&signal->semaphore, deadline) == RESULT_OK;
}

static inline uint64_t guest_now(void)
{
    return time_now();
}

static inline void guest_sleep_until(uint64_t time)
{
    thread_sleep_until(time);
}

static inline void guest_trace_notify(const struct partition_channel *channel)
{
    interrupt_state state = interrupts_save();

    trace_channel_notify(channel->index);
    interrupts_restore(state);
}

static inline void guest_trace_doorbell(const struct partition_channel *channel)
{
    trace_channel_doorbell(channel->index);
}

static inline void guest_trace_sleep(const struct partition_channel *channel)
{
    interrupt_state state = interrupts_save();

    trace_channel_sleep(channel->index);
    interrupts_restore(state);
}

static inline void guest_trace_state(const struct partition_channel *channel, uint32_t state)
{
    interrupt_state interrupts = interrupts_save();

    trace_channel_state(channel->index, state);
    interrupts_restore(interrupts);
}

static inline void guest_trace_connection(const struct partition_channel *channel,
                                          const struct channel *connection)
{
    interrupt_state state = interrupts_save();

    trace_channel_connection(channel->index, (uint32_t)connection->state,
                             (uint32_t)connection->error.kind, (uint32_t)connection->generation);
    interrupts_restore(state);
}

#endif
