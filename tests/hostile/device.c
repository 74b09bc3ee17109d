/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's state, as its registers (registers.c) change it, and PCI's configuration space,
 * which says where these are.
 */
#include "hostile.h"
#include <string.h>

#define NOTIFY_BYTES 0x0100u
#define MODERN_BAR   4u
#define LEGACY_BYTES 0x40u /* of BAR 0 */

struct device device;

static void *reach(void *context, uint64_t address, uint32_t bytes, bool write)
{
    (void)context;
    return memory_reach(address, bytes, write);
}

static void broken(void *context, const char *rule)
{
    (void)context;
    HOSTILE_CHECK(!device_strict(), "the driver breaks a rule: %s", rule);
}

/* The device's accesses are unseen ones: the rings belong to it as well. */
static const struct ring_memory ring_memory = {
    .reach = reach,
    .read = memory_read,
    .write = memory_write,
    .broken = broken,
};

struct queue *device_selected(void)
{
    static struct queue none;

    if (device.queue_select < QUEUES) {
        return &device.queue[device.queue_select];
    }
    memset(&none, 0, offsetof(struct queue, held));
    ring_reset(&none.ring, &ring_memory, 0);
    return &none;
}

static void reset_queue(struct queue *queue)
{
    uint16_t size_max = queue->size_max;
    uint16_t notify_offset = queue->notify_offset;

    memset(queue, 0, offsetof(struct queue, held));
    queue->size_max = size_max;
    queue->notify_offset = notify_offset;
    queue->vector = VIRTIO_NO_VECTOR;
    queue->held_count = 0;
    ring_reset(&queue->ring, &ring_memory, size_max);
}

static void reset(void)
{
    device.status = 0;
    device.accepted = 0;
    device.cause = 0;
    device.config_vector = VIRTIO_NO_VECTOR;
    device.told_reset = false;
    device.told_disabled = true;
    device.queue_reset_left = 0;
    memset(device.raised, 0, sizeof(device.raised));
    for (unsigned i = 0; i < QUEUES; i++) {
        reset_queue(&device.queue[i]);
    }
}

static void capability(uint8_t at, uint8_t length, uint8_t type, uint32_t offset, uint32_t bytes)
{
    const struct pci_model_virtio structure = {
        .length = length,
        .type = type,
        .bar = MODERN_BAR,
        .offset = offset,
        .bytes = bytes,
    };

    pci_model_place_capability(&device.pci, at, PCI_CAPABILITY_VENDOR, length);
    pci_model_virtio(&device.pci, at, &structure);
}

static void describe_pci(void)
{
    pci_model_reset(&device.pci, device.legacy ? 0x10001af4 : 0x10411af4);
    if (device.legacy) {
        pci_model_set(&device.pci, 0x2e, 1, 1); /* its type, as the subsystem */
        device.bar_bytes[0] = LEGACY_BYTES;
        return;
    }
    capability(0x40, 16, 1, 0, PCI_COMMON_BYTES);
    capability(0x50, 20, 2, PCI_NOTIFY_OFFSET, NOTIFY_BYTES);
    pci_model_set(&device.pci, 0x60, 4, PCI_NOTIFY_MULTIPLIER);
    capability(0x64, 16, 3, PCI_ISR_OFFSET, 1);
    capability(0x74, 16, 4, PCI_CONFIG_OFFSET, CONFIG_BYTES);
    device.bar_bytes[MODERN_BAR] = 0x4000;
}

void device_power_on(enum bus bus, bool legacy, uint16_t vectors, uint64_t offered)
{
    static const uint8_t config[] = {
        0x52, 0x54, 0, 0x12, 0x34, 0x56, /* MAC */
        1,    0,                         /* link up */
        2,    0,                         /* queue pairs */
        0xdc, 0x05,                      /* MTU 1500 */
        0x10, 0x27, 0, 0,    1,          /* speed, duplex */
    };

    memset(&device, 0, offsetof(struct device, queue));
    device.bus = bus;
    device.legacy = legacy;
    device.line = vectors == 0;
    device.vectors_granted = VECTORS;
    device.offered = offered;
    device.identity[0] = 0x74726976;
    device.identity[1] = legacy ? 1 : 2;
    device.identity[2] = 1;
    memcpy(device.config, config, sizeof(config));
    for (unsigned i = 0; i < QUEUES; i++) {
        device.queue[i].size_max = i < 5 ? QUEUE_LIMIT : 0;
        device.queue[i].notify_offset = (uint16_t)(i + 1);
    }
    memset(device.bar_bytes, 0, sizeof(device.bar_bytes));
    device.windows = 0;
    device.lies = 0;
    describe_pci();
    reset();
}

bool device_strict(void)
{
    return (device.lies & (LIE_RING | LIE_REGISTER)) == 0;
}

bool device_let_go(void)
{
    return !device.knows_memory || !device.in_use || (device.told_reset && device.told_disabled);
}

void device_forget_memory(void)
{
    device.knows_memory = false;
    memory_forget_received();
}

bool device_running(void)
{
    return (device.status & VIRTIO_STATUS_DRIVER_OK) != 0;
}

bool device_features(uint64_t mask)
{
    return (device.accepted & mask) == mask;
}

struct queue *device_queue(unsigned index)
{
    struct queue *queue = &device.queue[index % QUEUES];

    return device_running() && queue->enabled ? queue : NULL;
}

void device_write_status(uint8_t value)
{
    if (value == 0) {
        reset();
        return;
    }
    HOSTILE_CHECK(device.lies != 0 || (device.status & ~value) == 0,
                  "a status bit was cleared (2.1.1): %#x after %#x", value, device.status);
    device.in_use = !device_let_go();
    device.status = value;
}

uint32_t device_read_status(void)
{
    uint32_t seen = snare_register_read(ACCESS_STATUS, device.status, 1);

    device.told_reset = seen == 0;
    device.in_use = !device_let_go(); /* what it was told once it may believe */
    return seen;
}

void device_enable_queue(void)
{
    struct queue *queue = device_selected();

    queue->ring.features = device.accepted;
    queue->enabled = queue->ring.size != 0;
    device.told_disabled = false;
    device.told_reset = false;
    device.in_use = true;
    device.knows_memory = true;
}

/* A legacy device finds the queue's parts itself (2.7.2). */
void device_place_queue(uint32_t page)
{
    struct queue *queue = device_selected();
    uint64_t used;

    queue->ring.descriptors = (uint64_t)page * VIRTIO_LEGACY_ALIGNMENT;
    queue->ring.driver_area = queue->ring.descriptors + UINT64_C(16) * queue->ring.size;
    used =
        queue->ring.driver_area + 6u + UINT64_C(2) * queue->ring.size + VIRTIO_LEGACY_ALIGNMENT - 1;
    queue->ring.device_area = used - used % VIRTIO_LEGACY_ALIGNMENT;
    device_enable_queue();
}

/* Of a legacy device: the queue's page. */
uint32_t device_read_enabled(unsigned bytes)
{
    struct queue *queue = device_selected();
    uint32_t what =
        device.legacy ? (uint32_t)(queue->ring.descriptors / VIRTIO_LEGACY_ALIGNMENT) : 1;
    uint32_t seen = snare_register_read(ACCESS_QUEUE, queue->enabled ? what : 0, bytes);

    device.told_disabled = seen == 0;
    device.in_use |= seen != 0; /* whoever enabled it */
    device.queue_resets_told += seen == 0 && queue->told_reset;
    queue->told_reset = false;
    return seen;
}

/* 2.6.1: the queue forgets everything, if the device does what it is told. */
void device_begin_queue_reset(void)
{
    struct queue *queue = device_selected();

    HOSTILE_CHECK(device.lies != 0 || device_features(VIRTIO_F_RING_RESET),
                  "a queue is reset without RING_RESET (2.6.1)");
    device.queue_reset_left = device.queue_reset_reads;
    if (device.queue_reset == QUEUE_RESET_GOES_ON) {
        queue->enabled = false;
    } else if (device.queue_reset == QUEUE_RESET_GIVES_UP) {
        device.status |= VIRTIO_STATUS_NEEDS_RESET;
    } else if (device.queue_reset != QUEUE_RESET_STAYS) {
        reset_queue(queue);
    }
}

uint32_t device_read_queue_reset(unsigned bytes)
{
    bool going_on = device.queue_reset == QUEUE_RESET_NEVER || device.queue_reset_left != 0;
    uint32_t seen = snare_register_read(ACCESS_QUEUE, going_on, bytes);

    device.queue_reset_left -= device.queue_reset_left != 0;
    device_selected()->told_reset = seen == 0;
    return seen;
}

uint32_t device_pci_read(uint16_t offset, unsigned bytes)
{
    HOSTILE_CHECK(offset % bytes == 0 && offset + bytes <= PCI_BYTES, "PCI configuration at %#x",
                  offset);
    return snare_register_read(ACCESS_IDENTITY, pci_model_read(&device.pci, offset, bytes), bytes);
}

void device_pci_write(uint16_t offset, unsigned bytes, uint32_t value)
{
    HOSTILE_CHECK(offset == 4 && bytes == 2, "write of PCI configuration at %#x", offset);
    pci_model_write(&device.pci, offset, bytes, value);
    snare_register_write();
}

virtio_register device_pci_map(unsigned bar, uint64_t offset, uint64_t bytes)
{
    virtio_register base = BAR_BASE + bar * BAR_STRIDE + (virtio_register)offset;

    HOSTILE_CHECK(bar < 6, "BAR %u", bar);
    if (bytes == 0 || offset > device.bar_bytes[bar] || bytes > device.bar_bytes[bar] - offset) {
        return 0;
    }
    if (device.windows < sizeof(device.window) / sizeof(device.window[0])) {
        device.window[device.windows].base = base;
        device.window[device.windows++].bytes = bytes;
    }
    return base;
}

void device_raise(uint16_t vector, uint8_t cause)
{
    if (device.line) {
        device.cause |= cause;
        device.raised[0] = true;
    } else if (vector < VECTORS) {
        device.raised[vector] = true;
    }
}

void device_fail(void)
{
    device.lies |= LIE_CONFIG;
    if (device_running()) {
        device.status |= VIRTIO_STATUS_NEEDS_RESET;
        device_raise(device.config_vector, VIRTIO_CAUSE_CONFIG);
    }
}
