/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's registers, MMIO (VIRTIO 1.3, 4.2.2) and PCI (4.1.4), over one device state. Honest:
 * lies are made by changing this state, or by snares. The driver never gets an access outside the
 * registers it was given, whatever the device told it.
 */
#include "hostile.h"
#include <string.h>

#define COMMON_OFFSET     0x0000u
#define ISR_OFFSET        0x1000u
#define CONFIG_OFFSET     0x2000u
#define NOTIFY_OFFSET     0x3000u
#define NOTIFY_BYTES      0x0100u
#define NOTIFY_MULTIPLIER 4u
#define MODERN_BAR        4u
#define COMMON_BYTES      0x40u

struct device device;

static struct queue *selected(void)
{
    static struct queue none;

    memset(&none, 0, sizeof(none));
    return device.queue_select < QUEUES ? &device.queue[device.queue_select] : &none;
}

static void reset(void)
{
    device.status = 0;
    device.accepted = 0;
    device.cause = 0;
    device.config_vector = VIRTIO_NO_VECTOR;
    device.told_reset = false;
    device.told_disabled = true;
    memset(device.raised, 0, sizeof(device.raised));
    for (unsigned i = 0; i < QUEUES; i++) {
        struct queue *queue = &device.queue[i];
        uint16_t size_max = queue->size_max;
        uint16_t notify_offset = queue->notify_offset;

        memset(queue, 0, offsetof(struct queue, held));
        queue->size_max = size_max;
        queue->size = size_max;
        queue->notify_offset = notify_offset;
        queue->vector = VIRTIO_NO_VECTOR;
        queue->held_count = 0;
    }
    traffic_reset();
}

static void put32(unsigned offset, uint32_t value)
{
    memcpy(&device.pci[offset], &value, sizeof(value));
}

static void capability(unsigned at, unsigned next, unsigned length, unsigned type, uint32_t offset,
                       uint32_t bytes)
{
    device.pci[at] = 0x09;
    device.pci[at + 1] = (uint8_t)next;
    device.pci[at + 2] = (uint8_t)length;
    device.pci[at + 3] = (uint8_t)type;
    device.pci[at + 4] = MODERN_BAR;
    put32(at + 8, offset);
    put32(at + 12, bytes);
}

static void describe_pci(void)
{
    put32(0x00, 0x10411af4);
    put32(0x04, 0x00100000); /* a capability list */
    device.pci[0x34] = 0x40;
    capability(0x40, 0x50, 16, 1, COMMON_OFFSET, COMMON_BYTES);
    capability(0x50, 0x64, 20, 2, NOTIFY_OFFSET, NOTIFY_BYTES);
    put32(0x60, NOTIFY_MULTIPLIER);
    capability(0x64, 0x74, 16, 3, ISR_OFFSET, 1);
    capability(0x74, 0x00, 16, 4, CONFIG_OFFSET, CONFIG_BYTES);
    device.bar_bytes[MODERN_BAR] = 0x4000;
}

void device_power_on(enum bus bus, uint16_t vectors, uint64_t offered)
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
    device.line = vectors == 0;
    device.vectors_granted = VECTORS;
    device.offered = offered;
    device.identity[0] = 0x74726976;
    device.identity[1] = 2;
    device.identity[2] = 1;
    memcpy(device.config, config, sizeof(config));
    for (unsigned i = 0; i < QUEUES; i++) {
        device.queue[i].size_max = i < 5 ? QUEUE_LIMIT : 0;
        device.queue[i].notify_offset = (uint16_t)(i + 1);
    }
    memset(device.pci, 0, sizeof(device.pci));
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
    return !device.in_use || (device.told_reset && device.told_disabled);
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

static void write_status(uint8_t value)
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

static void enable_queue(uint32_t value)
{
    struct queue *queue = selected();

    HOSTILE_CHECK(value == 1, "a queue is disabled by its enable register (4.1.4.3.2)");
    queue->ring = device_features(VIRTIO_F_RING_PACKED) ? &ring_packed : &ring_split;
    queue->available_wrap = true;
    queue->used_wrap = true;
    queue->signalled_wrap = true;
    queue->enabled = queue->size != 0;
    device.told_disabled = false;
    device.told_reset = false;
    device.in_use = true;
}

static void disable_queue(void)
{
    selected()->enabled = false;
    selected()->held_count = 0;
}

static void notify(uint32_t index)
{
    HOSTILE_CHECK(device.lies != 0 || device_running(), "a notification before DRIVER_OK (3.1.1)");
    if (index < QUEUES) {
        device.queue[index].notifications++;
    }
}

static void write_half(uint64_t *address, bool high, uint32_t value)
{
    uint64_t keep = high ? UINT32_MAX : ~(uint64_t)UINT32_MAX;

    *address = (*address & keep) | ((uint64_t)value << (high ? 32 : 0));
}

static void write_features(uint32_t value)
{
    HOSTILE_CHECK(device.lies != 0 || (device.status & VIRTIO_STATUS_FEATURES_OK) == 0,
                  "features after FEATURES_OK (3.1.1)");
    if (device.driver_feature_select < 2) {
        write_half(&device.accepted, device.driver_feature_select == 1, value);
    }
}

static uint32_t read_features(void)
{
    return device.device_feature_select > 1
               ? 0
               : (uint32_t)(device.offered >> (32 * device.device_feature_select));
}

static uint32_t see_status(void)
{
    uint32_t seen = snare_register_read(ACCESS_STATUS, device.status, 1);

    device.told_reset = seen == 0;
    return seen;
}

static uint32_t see_enabled(unsigned bytes)
{
    uint32_t seen = snare_register_read(ACCESS_QUEUE, selected()->enabled ? 1 : 0, bytes);

    device.told_disabled = seen == 0;
    device.in_use |= seen != 0; /* whoever enabled it */
    return seen;
}

/* The capabilities name other places than ours: nobody knows what is there. */
static bool moved(void)
{
    return (device.lies & LIE_REGISTER) != 0;
}

static uint32_t read_config(uint32_t offset, unsigned bytes)
{
    uint32_t value = 0;

    if (offset + bytes <= CONFIG_BYTES) {
        memcpy(&value, &device.config[offset], bytes);
    } else {
        HOSTILE_CHECK(moved(), "configuration read at %u", offset);
    }
    return snare_register_read(ACCESS_CONFIG, value, bytes);
}

static uint32_t mmio_read(uint32_t offset, unsigned bytes)
{
    if (offset >= 0x100) {
        return read_config(offset - 0x100, bytes);
    }
    switch (offset) {
    case 0x000:
    case 0x004:
    case 0x008:
        return snare_register_read(ACCESS_IDENTITY, device.identity[offset / 4], bytes);
    case 0x010:
        return snare_register_read(ACCESS_FEATURES, read_features(), bytes);
    case 0x034:
        return snare_register_read(ACCESS_QUEUE, selected()->size_max, bytes);
    case 0x044:
        return see_enabled(bytes);
    case 0x060:
        return snare_register_read(ACCESS_CAUSE, device.cause, bytes);
    case 0x070:
        return see_status();
    case 0x0c0:
        return snare_register_read(ACCESS_QUEUE, 0, bytes);
    case 0x0fc:
        return snare_register_read(ACCESS_GENERATION, device.generation, bytes);
    default:
        HOSTILE_CHECK(false, "read of MMIO register %#x", offset);
    }
}

/* Registers that differ only in where they are. */
static bool write_queue_address(uint32_t offset, uint32_t value)
{
    struct queue *queue = selected();
    uint64_t *area[] = {&queue->descriptors, &queue->driver_area, &queue->device_area};
    uint32_t step = device.bus == BUS_MMIO ? 16 : 8;

    if (offset >= 3 * step || offset % step >= 8) {
        return false;
    }
    HOSTILE_CHECK(device.lies != 0 || !queue->enabled, "a queue in use is changed (4.2.3.2)");
    write_half(area[offset / step], offset % step == 4, value);
    return true;
}

static void mmio_write(uint32_t offset, uint32_t value)
{
    switch (offset) {
    case 0x014:
        device.device_feature_select = value;
        break;
    case 0x020:
        write_features(value);
        break;
    case 0x024:
        device.driver_feature_select = value;
        break;
    case 0x030:
        device.queue_select = (uint16_t)value;
        break;
    case 0x038:
        selected()->size = (uint16_t)value;
        break;
    case 0x044:
        enable_queue(value);
        break;
    case 0x050:
        notify(value & 0xffffu);
        break;
    case 0x064:
        device.cause = (uint8_t)(device.cause & ~value);
        device.raised[0] = (device.cause & 3u) != 0;
        break;
    case 0x070:
        write_status((uint8_t)value);
        break;
    case 0x0c0:
        disable_queue();
        break;
    default:
        HOSTILE_CHECK(offset >= 0x80 && write_queue_address(offset - 0x80, value),
                      "write of MMIO register %#x", offset);
    }
}

static uint16_t granted(uint32_t vector)
{
    return vector < device.vectors_granted ? (uint16_t)vector : VIRTIO_NO_VECTOR;
}

static uint32_t common_read(uint32_t offset, unsigned bytes)
{
    switch (offset) {
    case 0x04:
        return snare_register_read(ACCESS_FEATURES, read_features(), bytes);
    case 0x10:
        return snare_register_read(ACCESS_QUEUE, device.config_vector, bytes);
    case 0x12:
        return snare_register_read(ACCESS_QUEUE, QUEUES, bytes);
    case 0x14:
        return see_status();
    case 0x15:
        return snare_register_read(ACCESS_GENERATION, device.generation & 0xffu, bytes);
    case 0x18:
        return snare_register_read(ACCESS_QUEUE, selected()->size, bytes);
    case 0x1a:
        return snare_register_read(ACCESS_QUEUE, selected()->vector, bytes);
    case 0x1c:
        return see_enabled(bytes);
    case 0x1e:
        return snare_register_read(ACCESS_QUEUE, selected()->notify_offset, bytes);
    case 0x3a:
        return snare_register_read(ACCESS_QUEUE, 0, bytes);
    default:
        HOSTILE_CHECK(moved(), "read of common register %#x", offset);
        return snare_register_read(ACCESS_QUEUE, 0, bytes);
    }
}

static void common_write(uint32_t offset, uint32_t value)
{
    switch (offset) {
    case 0x00:
        device.device_feature_select = value;
        break;
    case 0x08:
        device.driver_feature_select = value;
        break;
    case 0x0c:
        write_features(value);
        break;
    case 0x10:
        device.config_vector = granted(value);
        break;
    case 0x14:
        write_status((uint8_t)value);
        break;
    case 0x16:
        device.queue_select = (uint16_t)value;
        break;
    case 0x18:
        selected()->size = (uint16_t)value;
        break;
    case 0x1a:
        selected()->vector = granted(value);
        break;
    case 0x1c:
        enable_queue(value);
        break;
    case 0x3a:
        disable_queue();
        break;
    default:
        HOSTILE_CHECK((offset >= 0x20 && write_queue_address(offset - 0x20, value)) || moved(),
                      "write of common register %#x", offset);
    }
}

static uint32_t take_cause(void)
{
    uint32_t seen = snare_register_read(ACCESS_CAUSE, device.cause, 1);

    device.cause = 0;
    device.raised[0] = false;
    return seen;
}

/* What the driver may touch: what was mapped, inside its BAR. A device that lies about where its
 * structures are gets accesses to the wrong ones. */
static uint32_t check_window(virtio_register reg, unsigned bytes)
{
    HOSTILE_CHECK(reg % bytes == 0, "misaligned access to register %#lx", (unsigned long)reg);
    if (device.bus == BUS_MMIO) {
        HOSTILE_CHECK(reg >= MMIO_BASE && reg + bytes <= MMIO_BASE + MMIO_BYTES,
                      "access outside the registers: %#lx", (unsigned long)reg);
        HOSTILE_CHECK(bytes == 4 || reg >= MMIO_BASE + 0x100, "width (4.2.2.2)");
        return (uint32_t)(reg - MMIO_BASE);
    }
    for (unsigned i = 0; i < device.windows; i++) {
        if (reg >= device.window[i].base &&
            reg + bytes <= device.window[i].base + device.window[i].bytes) {
            return (uint32_t)((reg - BAR_BASE) % BAR_STRIDE);
        }
    }
    HOSTILE_CHECK(false, "access outside what was mapped: %#lx", (unsigned long)reg);
}

uint32_t device_read(virtio_register reg, unsigned bytes)
{
    uint32_t offset = check_window(reg, bytes);

    if (device.bus == BUS_MMIO) {
        return mmio_read(offset, bytes);
    }
    if (offset < COMMON_BYTES) {
        return common_read(offset, bytes);
    }
    if (offset >= CONFIG_OFFSET && offset < NOTIFY_OFFSET) {
        return read_config(offset - CONFIG_OFFSET, bytes);
    }
    HOSTILE_CHECK(offset == ISR_OFFSET || moved(), "read of PCI register %#x", offset);
    return take_cause();
}

void device_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    uint32_t offset = check_window(reg, bytes);

    if (device.bus == BUS_MMIO) {
        mmio_write(offset, value);
    } else if (offset < COMMON_BYTES) {
        common_write(offset, value);
    } else {
        HOSTILE_CHECK(offset >= NOTIFY_OFFSET || moved(), "write of PCI register %#x", offset);
        notify((offset - NOTIFY_OFFSET) / NOTIFY_MULTIPLIER - 1);
    }
    snare_register_write();
}

uint32_t device_pci_read(uint16_t offset, unsigned bytes)
{
    uint32_t value = 0;

    HOSTILE_CHECK(offset % bytes == 0 && offset + bytes <= sizeof(device.pci),
                  "PCI configuration at %#x", offset);
    memcpy(&value, &device.pci[offset], bytes);
    return snare_register_read(ACCESS_IDENTITY, value, bytes);
}

void device_pci_write(uint16_t offset, unsigned bytes, uint32_t value)
{
    HOSTILE_CHECK(offset == 4 && bytes == 2, "write of PCI configuration at %#x", offset);
    memcpy(&device.pci[offset], &value, bytes);
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
