/* SPDX-License-Identifier: BSD-2-Clause */
/* RTEMS, for channel/guest/. */
#ifndef GUEST_ADAPTER_H
#define GUEST_ADAPTER_H

#include "channel/rtems.h"
#include "devicetree.h"
#include <bsp.h>
#include <bsp/irq.h>
#include <dev/irq/arm-gic.h>
#include <libcpu/mmu-vmsav8-64.h>
#include <libfdt.h>

/* The interrupt specifier of the GIC (Linux binding "arm,gic-v3"): type, number, trigger. */
#define INTERRUPT_CELLS 3
#define TYPE_SPI        0u
#define TRIGGER_RISING  1u
#define FIRST_SPI       32u

/* Address and size of a partition's nodes. */
#define REGION_CELLS 4

static inline guest_status guest_open_devicetree(void)
{
    return partition_devicetree() != NULL ? GUEST_OK : GUEST_NO_DEVICETREE;
}

static inline int guest_next_node(int previous, const char *compatible)
{
    return fdt_node_offset_by_compatible(partition_devicetree(), previous, compatible);
}

static inline const void *guest_property(int node, const char *name, unsigned *bytes)
{
    int length;
    const void *property = fdt_getprop(partition_devicetree(), node, name, &length);

    *bytes = property != NULL ? (unsigned)length : 0;
    return property;
}

/* Returns a property of `count` cells, NULL if there is none or if it has another size. */
static inline const fdt32_t *guest_cells(int node, const char *name, unsigned count)
{
    unsigned bytes;
    const fdt32_t *property = guest_property(node, name, &bytes);

    return property != NULL && bytes == count * sizeof(*property) ? property : NULL;
}

static inline bool guest_read_region(int node, uint64_t *address, uint64_t *bytes)
{
    const fdt32_t *reg = guest_cells(node, "reg", REGION_CELLS);

    if (reg == NULL) {
        return false;
    }
    *address = (uint64_t)fdt32_ld(&reg[0]) << 32 | fdt32_ld(&reg[1]);
    *bytes = (uint64_t)fdt32_ld(&reg[2]) << 32 | fdt32_ld(&reg[3]);
    return true;
}

static inline bool guest_read_interrupt(int node, struct guest_interrupt *interrupt)
{
    const fdt32_t *specifier = guest_cells(node, "interrupts", INTERRUPT_CELLS);

    if (specifier == NULL || fdt32_ld(&specifier[0]) != TYPE_SPI ||
        fdt32_ld(&specifier[2]) != TRIGGER_RISING) {
        return false;
    }
    interrupt->vector = FIRST_SPI + fdt32_ld(&specifier[1]);
    return true;
}

static inline guest_status guest_map_memory(uint64_t address, uint64_t bytes, bool is_writable)
{
    return partition_map(address, bytes,
                         is_writable ? AARCH64_MMU_DATA_RW_CACHED : AARCH64_MMU_DATA_RO_CACHED);
}

static inline void guest_mask_interrupt(const struct guest_interrupt *interrupt)
{
    (void)rtems_interrupt_vector_disable(interrupt->vector);
}

static inline void guest_unmask_interrupt(const struct guest_interrupt *interrupt)
{
    (void)rtems_interrupt_vector_enable(interrupt->vector);
}

static inline guest_status guest_attach_interrupt(struct guest_interrupt *interrupt,
                                                  const char *name, void (*handler)(void *argument),
                                                  void *argument)
{
    rtems_status_code status;

    rtems_interrupt_entry_initialize(&interrupt->entry, handler, argument, name);
    /* RTEMS does not read the trigger from the devicetree. The interrupt is still disabled, as a
     * change of GICD_ICFGR requires (IHI 0069, GICD_ICFGR). */
    gic_id_set_trigger_mode(ARM_GIC_DIST, interrupt->vector, GIC_EDGE_TRIGGERED);
    status =
        rtems_interrupt_entry_install(interrupt->vector, RTEMS_INTERRUPT_UNIQUE, &interrupt->entry);
    if (status == RTEMS_SUCCESSFUL) {
        guest_mask_interrupt(interrupt);
    }
    return status;
}

static inline bool guest_load_flag(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static inline void guest_store_flag(bool *flag, bool value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

static inline void guest_init_signal(struct guest_signal *signal)
{
    rtems_binary_semaphore_init(&signal->semaphore, "doorbell");
}

static inline void guest_post_signal(struct guest_signal *signal)
{
    rtems_binary_semaphore_post(&signal->semaphore);
}

static inline void guest_clear_signal(struct guest_signal *signal)
{
    (void)rtems_binary_semaphore_try_wait(&signal->semaphore);
}

static inline uint64_t guest_now(void)
{
    return rtems_clock_get_uptime_nanoseconds();
}

/* Returns the ticks that pass until the time, at least 1. `now` is before it. */
static inline uint32_t guest_ticks_until(uint64_t time, uint64_t now)
{
    uint64_t tick = rtems_configuration_get_nanoseconds_per_tick();
    uint64_t ticks = (time - now - 1) / tick + 1;

    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/* The first tick is not a whole one, so that a wait may end before the deadline. */
static inline bool guest_wait_for_signal(struct guest_signal *signal, uint64_t deadline)
{
    uint64_t now;

    if (deadline == CHANNEL_FOREVER) {
        rtems_binary_semaphore_wait(&signal->semaphore);
        return true;
    }
    now = guest_now();
    if (now < deadline) {
        (void)rtems_binary_semaphore_wait_timed_ticks(&signal->semaphore,
                                                      guest_ticks_until(deadline, now));
    }
    return true;
}

static inline void guest_sleep_until(uint64_t time)
{
    uint64_t now = guest_now();

    if (now < time) {
        (void)rtems_task_wake_after(guest_ticks_until(time, now));
    }
}

/* RTEMS has no trace that knows channels. */

static inline void guest_trace_notify(const struct partition_channel *channel)
{
    (void)channel;
}

static inline void guest_trace_doorbell(const struct partition_channel *channel)
{
    (void)channel;
}

static inline void guest_trace_sleep(const struct partition_channel *channel)
{
    (void)channel;
}

static inline void guest_trace_state(const struct partition_channel *channel, uint32_t state)
{
    (void)channel;
    (void)state;
}

static inline void guest_trace_connection(const struct partition_channel *channel,
                                          const struct channel *connection)
{
    (void)channel;
    (void)connection;
}

#endif
