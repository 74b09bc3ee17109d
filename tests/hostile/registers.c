/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's registers over its one state: MMIO (VIRTIO 1.3, 4.2.2), PCI (4.1.4), and the legacy
 * ones of each (4.2.4, 4.1.4.10). Honest: lies are made by changing the state, or by snares. The
 * driver never gets an access outside the registers it was given, whatever the device told it.
 */
#include "hostile.h"

enum {
    MAGIC, /* this and the next two: device.identity */
    VERSION,
    DEVICE_ID,
    DEVICE_FEATURES,
    DEVICE_FEATURES_SELECT,
    DRIVER_FEATURES,
    DRIVER_FEATURES_SELECT,
    STATUS,
    GENERATION,
    CONFIG_VECTOR,
    QUEUE_COUNT,
    QUEUE_SELECT,
    QUEUE_SIZE_MAX,
    QUEUE_SIZE,
    QUEUE_VECTOR,
    QUEUE_ENABLE,
    QUEUE_PAGE, /* legacy: enables too */
    QUEUE_NOTIFY_OFFSET,
    QUEUE_RESET,
    PAGE_BYTES,
    QUEUE_ALIGNMENT,
    NOTIFY,
    CAUSE,
    CAUSE_ACKNOWLEDGE,
    REGISTERS,
};

#define NONE UINT16_MAX

static const struct {
    uint16_t at[4]; /* MMIO, legacy MMIO, PCI common configuration, legacy PCI */
    uint8_t bytes;  /* of PCI; the others have 4 */
} places[REGISTERS] = {
    [MAGIC] = {{0x000, 0x000, NONE, NONE}, 4},
    [VERSION] = {{0x004, 0x004, NONE, NONE}, 4},
    [DEVICE_ID] = {{0x008, 0x008, NONE, NONE}, 4},
    [DEVICE_FEATURES] = {{0x010, 0x010, 0x04, 0x00}, 4},
    [DEVICE_FEATURES_SELECT] = {{0x014, 0x014, 0x00, NONE}, 4},
    [DRIVER_FEATURES] = {{0x020, 0x020, 0x0c, 0x04}, 4},
    [DRIVER_FEATURES_SELECT] = {{0x024, 0x024, 0x08, NONE}, 4},
    [STATUS] = {{0x070, 0x070, 0x14, 0x12}, 1},
    [GENERATION] = {{0x0fc, NONE, 0x15, NONE}, 1},
    [CONFIG_VECTOR] = {{NONE, NONE, 0x10, 0x14}, 2},
    [QUEUE_COUNT] = {{NONE, NONE, 0x12, NONE}, 2},
    [QUEUE_SELECT] = {{0x030, 0x030, 0x16, 0x0e}, 2},
    [QUEUE_SIZE_MAX] = {{0x034, 0x034, NONE, 0x0c}, 2},
    [QUEUE_SIZE] = {{0x038, 0x038, 0x18, NONE}, 2},
    [QUEUE_VECTOR] = {{NONE, NONE, 0x1a, 0x16}, 2},
    [QUEUE_ENABLE] = {{0x044, NONE, 0x1c, NONE}, 2},
    [QUEUE_PAGE] = {{NONE, 0x040, NONE, 0x08}, 4},
    [QUEUE_NOTIFY_OFFSET] = {{NONE, NONE, 0x1e, NONE}, 2},
    [QUEUE_RESET] = {{0x0c0, NONE, 0x3a, NONE}, 2},
    [PAGE_BYTES] = {{NONE, 0x028, NONE, NONE}, 4},
    [QUEUE_ALIGNMENT] = {{NONE, 0x03c, NONE, NONE}, 4},
    [NOTIFY] = {{0x050, 0x050, NONE, 0x10}, 2},
    [CAUSE] = {{0x060, 0x060, NONE, 0x13}, 1},
    [CAUSE_ACKNOWLEDGE] = {{0x064, 0x064, NONE, NONE}, 4},
};

/* The device gave itself out for another interface, or for one in another place: nobody knows what
 * is there. */
static bool moved(void)
{
    return (device.lies & LIE_REGISTER) != 0;
}

static unsigned find(uint32_t offset, unsigned bytes)
{
    unsigned kind = (device.bus == BUS_PCI ? 2u : 0u) + device.legacy;
    unsigned which = 0;

    while (which < REGISTERS && places[which].at[kind] != offset) {
        which++;
    }
    HOSTILE_CHECK(which == REGISTERS || moved() ||
                      bytes == (device.bus == BUS_PCI ? places[which].bytes : 4u),
                  "%u bytes at register %#x (4.1.3.1, 4.2.2.2)", bytes, offset);
    return which;
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

static uint32_t offered_features(void)
{
    return device.device_feature_select > 1
               ? 0
               : (uint32_t)(device.offered >> (32 * device.device_feature_select));
}

/* PCI's takes the line back as well (4.1.4.5). */
static uint32_t read_cause(unsigned bytes)
{
    uint32_t seen = snare_register_read(ACCESS_CAUSE, device.cause, bytes);

    if (device.bus == BUS_PCI) {
        device.cause = 0;
        device.raised[0] = false;
    }
    return seen;
}

static uint32_t read_register(unsigned which, unsigned bytes)
{
    const struct queue *queue = device_selected();

    switch (which) {
    case MAGIC:
    case VERSION:
    case DEVICE_ID:
        return snare_register_read(ACCESS_IDENTITY, device.identity[which], bytes);
    case DEVICE_FEATURES:
        return snare_register_read(ACCESS_FEATURES, offered_features(), bytes);
    case STATUS:
        return device_read_status();
    case GENERATION:
        return snare_register_read(ACCESS_GENERATION, device.generation, bytes);
    case CONFIG_VECTOR:
        return snare_register_read(ACCESS_QUEUE, device.config_vector, bytes);
    case QUEUE_COUNT:
        return snare_register_read(ACCESS_QUEUE, QUEUES, bytes);
    case QUEUE_SIZE_MAX:
        return snare_register_read(ACCESS_QUEUE, queue->size_max, bytes);
    case QUEUE_SIZE:
        return snare_register_read(ACCESS_QUEUE, queue->ring.size, bytes);
    case QUEUE_VECTOR:
        return snare_register_read(ACCESS_QUEUE, queue->vector, bytes);
    case QUEUE_ENABLE:
    case QUEUE_PAGE:
        return device_read_enabled(bytes);
    case QUEUE_NOTIFY_OFFSET:
        return snare_register_read(ACCESS_QUEUE, queue->notify_offset, bytes);
    case QUEUE_RESET:
        return device_read_queue_reset(bytes);
    case CAUSE:
        return read_cause(bytes);
    default:
        HOSTILE_CHECK(moved(), "read of register %u", which);
        return snare_register_read(ACCESS_QUEUE, 0, bytes);
    }
}

static uint16_t granted(uint32_t vector)
{
    return vector < device.vectors_granted ? (uint16_t)vector : VIRTIO_NO_VECTOR;
}

static void notify(uint32_t index)
{
    HOSTILE_CHECK(device.lies != 0 || device_running(), "a notification before DRIVER_OK (3.1.1)");
    if (index < QUEUES) {
        device.queue[index].notifications++;
    }
}

/* Two halves each (4.1.4.3, 4.2.2). */
static bool write_queue_address(uint32_t offset, uint32_t value)
{
    struct queue *queue = device_selected();
    uint64_t *area[] = {&queue->ring.descriptors, &queue->ring.driver_area,
                        &queue->ring.device_area};
    uint32_t step = device.bus == BUS_MMIO ? 16 : 8;

    offset -= device.bus == BUS_MMIO ? 0x80 : 0x20;
    if (device.legacy || offset >= 3 * step || offset % step >= 8) {
        return false;
    }
    HOSTILE_CHECK(device.lies != 0 || !queue->enabled, "a queue in use is changed (4.2.3.2)");
    write_half(area[offset / step], offset % step == 4, value);
    return true;
}

static void write_register(unsigned which, uint32_t value)
{
    switch (which) {
    case DEVICE_FEATURES_SELECT:
        device.device_feature_select = value;
        break;
    case DRIVER_FEATURES:
        write_features(value);
        break;
    case DRIVER_FEATURES_SELECT:
        device.driver_feature_select = value;
        break;
    case STATUS:
        device_write_status((uint8_t)value);
        break;
    case CONFIG_VECTOR:
        device.config_vector = granted(value);
        break;
    case QUEUE_SELECT:
        device.queue_select = (uint16_t)value;
        break;
    case QUEUE_SIZE:
        device_selected()->ring.size = (uint16_t)value;
        break;
    case QUEUE_VECTOR:
        device_selected()->vector = granted(value);
        break;
    case QUEUE_ENABLE:
        HOSTILE_CHECK(value == 1 || moved(),
                      "a queue is disabled by its enable register (4.1.4.3.2)");
        device_enable_queue();
        break;
    case QUEUE_PAGE:
        HOSTILE_CHECK(value != 0 || moved(), "a queue is disabled by its address");
        device_place_queue(value);
        break;
    case QUEUE_RESET:
        device_begin_queue_reset();
        break;
    case PAGE_BYTES:
    case QUEUE_ALIGNMENT:
        HOSTILE_CHECK(value == VIRTIO_LEGACY_ALIGNMENT || moved(), "pages of %u bytes (4.2.4)",
                      value);
        break;
    case NOTIFY:
        notify(value & 0xffffu);
        break;
    case CAUSE_ACKNOWLEDGE:
        device.cause = (uint8_t)(device.cause & ~value);
        device.raised[0] = (device.cause & 3u) != 0;
        break;
    default:
        HOSTILE_CHECK(moved(), "write of register %u", which);
    }
}

/* Checks that an access of the driver lies in a mapped window, inside its BAR. A device that
 * reports wrong places of its structures gets accesses to the wrong ones. */
static uint32_t check_window(virtio_register reg, unsigned bytes)
{
    HOSTILE_CHECK(reg % bytes == 0, "misaligned access to register %#lx", (unsigned long)reg);
    if (device.bus == BUS_MMIO) {
        HOSTILE_CHECK(reg >= MMIO_BASE && reg + bytes <= MMIO_BASE + MMIO_BYTES,
                      "access outside the registers: %#lx", (unsigned long)reg);
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

/* The legacy interface of PCI has it behind two registers that are there with MSI-X (4.1.4.10). */
static uint32_t config_offset(void)
{
    if (device.bus == BUS_MMIO) {
        return 0x100;
    }
    return !device.legacy ? PCI_CONFIG_OFFSET : device.line ? 0x14 : 0x18;
}

static uint32_t read_config(uint32_t offset, unsigned bytes)
{
    uint32_t value = 0;

    if (offset + bytes <= CONFIG_BYTES) {
        memory_read(&value, &device.config[offset], bytes);
    } else {
        HOSTILE_CHECK(moved(), "configuration read at %u", offset);
    }
    return snare_register_read(ACCESS_CONFIG, value, bytes);
}

uint32_t virtio_platform_read(virtio_register reg, unsigned bytes)
{
    uint32_t offset = check_window(reg, bytes);
    bool structures = device.bus == BUS_PCI && !device.legacy;

    if (offset >= config_offset() && (!structures || offset < PCI_NOTIFY_OFFSET)) {
        return read_config(offset - config_offset(), bytes);
    }
    if (structures && offset >= PCI_COMMON_BYTES) {
        HOSTILE_CHECK(offset == PCI_ISR_OFFSET || moved(), "read of PCI register %#x", offset);
        return read_cause(bytes);
    }
    return read_register(find(offset, bytes), bytes);
}

void virtio_platform_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    uint32_t offset = check_window(reg, bytes);

    if (device.bus == BUS_PCI && !device.legacy && offset >= PCI_COMMON_BYTES) {
        HOSTILE_CHECK(offset >= PCI_NOTIFY_OFFSET || moved(), "write of PCI register %#x", offset);
        notify((offset - PCI_NOTIFY_OFFSET) / PCI_NOTIFY_MULTIPLIER - 1);
    } else if (!write_queue_address(offset, value)) {
        HOSTILE_CHECK(offset < config_offset() || moved(), "write of the configuration");
        write_register(find(offset, bytes), value);
    }
    snare_register_write();
}
