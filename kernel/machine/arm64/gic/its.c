/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Message-signalled interrupts through the Interrupt Translation Service (IHI 0069, 5.2): a
 * device's write of an event number becomes an LPI at this core. The first allocation of a message
 * starts the ITS and allocates its memory.
 *
 * Only the first ITS of the devicetree is used, with flat tables and one collection.
 */
#include "gic/gic_private.h"
#include "gic/its_private.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <devices/gic_registers.h>
#include <string.h>

#define ITS_BYTES     UINT64_C(0x20000) /* control and translation frame */
#define LPIS_MAX      64u               /* LPIs that can be allocated */
#define COLLECTION    0u
#define EVENT_BITS    5u
#define ITT_ALIGNMENT 256u /* IHI 0069, MAPD: bits 7:0 of the address are 0 */

_Static_assert(INTERRUPT_MESSAGE_EVENTS == 1u << EVENT_BITS, "event numbers are EVENT_BITS wide");

struct its_device {
    struct its_device *next;
    uint32_t id;
};

struct its_lpi {
    uint32_t device;
    uint32_t event;
};

enum its_state { ITS_UNSTARTED, ITS_RUNNING, ITS_ABSENT };

static struct {
    struct mutex mutex; /* protects the fields below */
    enum its_state state;
    int node;          /* devicetree node; -1: there is no ITS */
    uint32_t prepared; /* highest announced device id */
    uintptr_t registers;
    uint64_t translator; /* physical address that devices write messages to */
    uint64_t type;
    struct its_queue queue;
    struct its_tables tables;
    struct its_device *devices;
    struct its_lpi *lpis; /* LPIS_MAX entries; [0] is GIC_LPI_FIRST */
    uint32_t lpi_count;   /* number of allocated LPIs */
    size_t bytes;
} its;

#define NODE_UNKNOWN (-2)

static int its_node(void)
{
    if (its.node == NODE_UNKNOWN) {
        its.node = devicetree_next_compatible(-1, "arm,gic-v3-its");
    }
    return its.node;
}

void its_init(void)
{
    mutex_init(&its.mutex);
    its.node = NODE_UNKNOWN;
}

bool arch_interrupt_message_controller(int node)
{
    return node >= 0 && node == its_node();
}

size_t arch_interrupt_message_bytes(void)
{
    return its.bytes;
}

/* Disables the ITS and waits until it is quiescent: only then may tables and queue change (IHI
 * 0069, GITS_CTLR). */
static enum result turn_off(void)
{
    uintptr_t control = its.registers + GITS_CTLR;

    device_write32(control, device_read32(control) & ~GITS_CTLR_ENABLED);
    return gic_wait(control, GITS_CTLR_QUIESCENT, GITS_CTLR_QUIESCENT, GIC_POLLS_MAX)
               ? RESULT_OK
               : RESULT_TIMED_OUT;
}

/* Returns the Redistributor's RDbase in commands: its address or its number (GITS_TYPER.PTA, 5.3).
 */
static uint64_t redistributor_target(const struct redistributor *redistributor)
{
    if ((its.type & GITS_TYPER_PTA) != 0) {
        return redistributor->base & ~UINT64_C(0xFFFF);
    }
    return (uint64_t)(redistributor->type >> 8 & 0xFFFF) << 16; /* GICR_TYPER.Processor_Number */
}

static enum result map_registers(void)
{
    uint64_t address, size;
    int node = its_node();
    enum result result;

    if (node < 0) {
        return RESULT_UNSUPPORTED;
    }
    result = devicetree_reg(node, 0, &address, &size);
    if (result != RESULT_OK || size < ITS_BYTES) {
        return RESULT_UNSUPPORTED;
    }
    its.registers = arch_mmu_map_device(address, GIC_FRAME_BYTES);
    its.translator = address + GITS_TRANSLATER;
    return its.registers == 0 ? RESULT_NO_MEMORY : RESULT_OK;
}

/* Sets up tables and queue, and enables the ITS. After a failure the caller undoes it. */
static enum result turn_on(uint32_t highest_device)
{
    uint64_t target = redistributor_target(gic_redistributor());
    enum result result =
        its_tables_init(&its.tables, its.registers, its.type, COLLECTION, highest_device);

    if (result == RESULT_OK) {
        result = its_queue_init(&its.queue, its.registers, target);
    }
    if (result != RESULT_OK) {
        return result;
    }
    device_write32(its.registers + GITS_CTLR,
                   device_read32(its.registers + GITS_CTLR) | GITS_CTLR_ENABLED);
    return its_execute(&its.queue, its_map_collection(COLLECTION, target));
}

static size_t memory_used(void)
{
    return lpi_bytes() + ITS_QUEUE_BYTES + its_tables_bytes(&its.tables) +
           LPIS_MAX * sizeof(*its.lpis);
}

static enum result start(uint32_t highest_device)
{
    enum result result = map_registers();

    if (result == RESULT_OK) {
        its.type = device_read64(its.registers + GITS_TYPER);
        result = lpi_init(gic_redistributor());
    }
    if (result == RESULT_OK) {
        result = turn_off();
    }
    if (result != RESULT_OK) {
        return result;
    }
    its.lpis = heap_allocate(LPIS_MAX * sizeof(*its.lpis));
    result = its.lpis == NULL ? RESULT_NO_MEMORY : turn_on(highest_device);
    if (result != RESULT_OK) {
        if (turn_off() == RESULT_OK) {
            its_queue_free(&its.queue);
            its_tables_free(&its.tables);
        }
        heap_free(its.lpis);
        its.lpis = NULL;
        return result;
    }
    its.bytes = memory_used();
    return RESULT_OK;
}

static enum result start_once(uint32_t device)
{
    enum result result;

    if (its.state == ITS_RUNNING) {
        return RESULT_OK;
    }
    if (its.state == ITS_ABSENT) {
        return RESULT_UNSUPPORTED;
    }
    result = start(device > its.prepared ? device : its.prepared);
    if (result == RESULT_OK) {
        its.state = ITS_RUNNING;
    } else if (result != RESULT_NO_MEMORY) {
        its.state = ITS_ABSENT; /* a second attempt would fail too */
    }
    return result;
}

static struct its_device *find_device(uint32_t id)
{
    struct its_device *device = its.devices;

    while (device != NULL && device->id != id) {
        device = device->next;
    }
    return device;
}

/* Maps the device (MAPD) to an empty interrupt translation table. */
static enum result add_device(uint32_t id)
{
    /* GITS_TYPER.ITT_entry_size: bytes minus 1. */
    size_t bytes = ((its.type >> 4 & 0xF) + 1) << EVENT_BITS;
    struct its_device *device;
    void *table;
    enum result result = RESULT_NO_MEMORY;

    if (its.queue.dead) {
        return RESULT_TIMED_OUT;
    }
    device = heap_allocate(sizeof(*device));
    table = heap_allocate_aligned(bytes, ITT_ALIGNMENT);
    if (device != NULL && table != NULL) {
        memset(table, 0, bytes);
        gic_publish(table, bytes, its.tables.coherent);
        result = its_execute(&its.queue, its_map_device(id, EVENT_BITS, (uintptr_t)table));
    }
    if (result == RESULT_TIMED_OUT) {
        /* The command stays in the ring. The ITS may still execute it and write to the table, so
         * this memory is never freed. This happens once only, because the ITS is then marked dead.
         */
        its.bytes += bytes;
        table = NULL;
    }
    if (result != RESULT_OK) {
        heap_free(device);
        heap_free(table);
        return result;
    }
    device->id = id;
    device->next = its.devices;
    its.devices = device;
    its.bytes += sizeof(*device) + bytes;
    return RESULT_OK;
}

/* Returns the index of the LPI that the event is routed to, its.lpi_count if there is none. */
static uint32_t find_lpi(uint32_t device, uint32_t event)
{
    uint32_t index = 0;

    while (index < its.lpi_count &&
           (its.lpis[index].device != device || its.lpis[index].event != event)) {
        index++;
    }
    return index;
}

/* Routes the event to the next free LPI (MAPTI), disabled. */
static enum result add_lpi(uint32_t device, uint32_t event)
{
    uint32_t number = GIC_LPI_FIRST + its.lpi_count;
    enum result result;

    if (its.lpi_count == LPIS_MAX || number >= lpi_limit()) {
        return RESULT_NO_MEMORY;
    }
    lpi_set(number, false);
    result = its_execute(&its.queue, its_map_event(device, event, number, COLLECTION));
    if (result == RESULT_OK) {
        its.lpis[its.lpi_count] = (struct its_lpi){.device = device, .event = event};
        its.lpi_count++;
    }
    return result;
}

/* Allocates the LPI of an event. its.mutex held. */
static enum result allocate(uint32_t device, uint32_t event, uint32_t *number)
{
    enum result result = start_once(device);
    uint32_t index;

    if (result != RESULT_OK) {
        return result;
    }
    if (device >= its.tables.device_limit || event >= INTERRUPT_MESSAGE_EVENTS) {
        return RESULT_INVALID;
    }
    index = find_lpi(device, event);
    if (index == its.lpi_count) {
        if (find_device(device) == NULL) {
            result = add_device(device);
        }
        if (result == RESULT_OK) {
            result = add_lpi(device, event);
        }
    }
    if (result == RESULT_OK) {
        *number = GIC_LPI_FIRST + index;
    }
    return result;
}

enum result arch_interrupt_message_allocate(uint32_t device_id, uint32_t event, uint32_t *number,
                                            struct interrupt_message *message)
{
    enum result result = mutex_lock(&its.mutex, DEADLINE_NONE);

    if (result != RESULT_OK) {
        return result;
    }
    result = allocate(device_id, event, number);
    if (result == RESULT_OK) {
        message->address = its.translator;
        message->data = event;
    }
    (void)mutex_unlock(&its.mutex);
    return result;
}

enum result arch_interrupt_message_prepare(uint32_t highest_device_id)
{
    enum result result = mutex_lock(&its.mutex, DEADLINE_NONE);

    if (result != RESULT_OK) {
        return result;
    }
    if (its.state == ITS_ABSENT || its_node() < 0) {
        result = RESULT_UNSUPPORTED;
    } else if (its.prepared < highest_device_id) {
        its.prepared = highest_device_id;
    }
    (void)mutex_unlock(&its.mutex);
    return result;
}

bool its_has(uint32_t number)
{
    return number >= GIC_LPI_FIRST && number - GIC_LPI_FIRST < its.lpi_count;
}

void its_set_enabled(uint32_t number, bool enabled)
{
    if (its_has(number)) {
        struct its_lpi lpi = its.lpis[number - GIC_LPI_FIRST];

        lpi_set(number, enabled);
        /* The Redistributor may have the configuration byte cached (IHI 0069, INV). */
        its_execute_masked(&its.queue, its_invalidate(lpi.device, lpi.event));
    }
}

void its_set_priority(uint32_t number, uint8_t priority)
{
    if (its_has(number)) {
        struct its_lpi lpi = its.lpis[number - GIC_LPI_FIRST];

        lpi_set_priority(number, priority);
        its_execute_masked(&its.queue, its_invalidate(lpi.device, lpi.event));
    }
}

void its_set_pending(uint32_t number, bool pending)
{
    if (its_has(number)) {
        struct its_lpi lpi = its.lpis[number - GIC_LPI_FIRST];

        its_execute_masked(&its.queue, pending ? its_interrupt(lpi.device, lpi.event)
                                               : its_clear(lpi.device, lpi.event));
    }
}
