/* SPDX-License-Identifier: BSD-2-Clause */
/* The fake device's registers, MMIO (VIRTIO 1.3, 4.2.2) and PCI (4.1.4), over one device state. */
#include "fake.h"
#include <string.h>

#define COMMON_BAR        4u
#define COMMON_OFFSET     0x0000u
#define ISR_OFFSET        0x1000u
#define DEVICE_OFFSET     0x2000u
#define NOTIFY_OFFSET     0x3000u
#define NOTIFY_MULTIPLIER 4u

#define STATUS_ALL                                                                  \
    (VIRTIO_STATUS_ACKNOWLEDGE | VIRTIO_STATUS_DRIVER | VIRTIO_STATUS_FEATURES_OK | \
     VIRTIO_STATUS_DRIVER_OK)

static struct fake_queue *selected(void)
{
    static struct fake_queue none;

    if (fake->queue_select < FAKE_QUEUES) {
        return &fake->queue[fake->queue_select];
    }
    memset(&none, 0, sizeof(none));
    return &none;
}

/* Clears a queue but for its maximal size and its notification offset. */
static void clear_queue(struct fake_queue *queue)
{
    uint16_t size_max = queue->size_max;
    uint16_t notify_offset = queue->notify_offset;

    memset(queue, 0, offsetof(struct fake_queue, ring));
    ring_reset(&queue->ring, NULL, size_max);
    queue->size_max = size_max;
    queue->notify_offset = notify_offset;
    queue->vector = VIRTIO_NO_VECTOR;
}

static void device_reset(void)
{
    fake->status_before = fake->status;
    fake->reset_reads_left = fake->reset_reads;
    if (fake->stuck_in_reset) {
        return;
    }
    fake->status = 0;
    fake->accepted = 0;
    fake->isr = 0;
    fake->config_vector = VIRTIO_NO_VECTOR;
    memset(fake->raised, 0, sizeof(fake->raised));
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        clear_queue(&fake->queue[i]);
    }
}

void fake_hot_reset(void)
{
    device_reset();
}

static uint8_t read_status(void)
{
    fake->locked_status = fake->locked_status || fake_lock_depth != 0;
    if (fake->reset_reads_left != 0) {
        fake->reset_reads_left--;
        return (uint8_t)(fake->status_before | 1u);
    }
    return fake->status;
}

/* 2.1.1 and 3.1.1: bits are only added, one step after the other. */
static void write_status(uint8_t value)
{
    uint8_t added = (uint8_t)(value & ~fake->status);

    if (value == 0) {
        device_reset();
        return;
    }
    assert_int_equal(fake->status & ~value, 0);
    if ((added & VIRTIO_STATUS_FEATURES_OK) != 0) {
        assert_int_equal(fake->status & (VIRTIO_STATUS_ACKNOWLEDGE | VIRTIO_STATUS_DRIVER),
                         VIRTIO_STATUS_ACKNOWLEDGE | VIRTIO_STATUS_DRIVER);
        assert_int_equal(fake->accepted & ~fake->offered, 0);
        assert_true((fake->accepted & VIRTIO_F_VERSION_1) != 0);
        if (fake->refuse_features) {
            value &= (uint8_t)~VIRTIO_STATUS_FEATURES_OK;
        }
    }
    if ((added & VIRTIO_STATUS_DRIVER_OK) != 0) {
        assert_true((fake->status & VIRTIO_STATUS_FEATURES_OK) != 0);
        assert_true(fake->queue[0].enabled &&
                    (fake->device_id != VIRTIO_DEVICE_NETWORK || fake->queue[1].enabled));
        for (unsigned i = 0; i < FAKE_QUEUES; i++) {
            assert_int_equal(fake->queue[i].notifications, 0);
        }
    }
    fake->status = value;
}

static uint32_t read_features(void)
{
    uint64_t offer = fake->offer_reads < 2 ? fake->offered : fake->offered & ~fake->withdrawn;

    fake->offer_reads++;
    return fake->device_feature_select > 1
               ? 0
               : (uint32_t)(offer >> (32 * fake->device_feature_select));
}

static void write_features(uint32_t value)
{
    uint64_t mask;

    assert_int_equal(fake->status & VIRTIO_STATUS_FEATURES_OK, 0);
    assert_true(fake->driver_feature_select <= 1);
    mask = UINT64_C(0xffffffff) << (32 * fake->driver_feature_select);
    fake->accepted =
        (fake->accepted & ~mask) | ((uint64_t)value << (32 * fake->driver_feature_select));
}

/* Queue registers change only while the queue is off (4.2.2.2, 4.1.4.3.2), and before DRIVER_OK. */
static void may_configure(void)
{
    assert_true(fake->queue_select < FAKE_QUEUES);
    assert_false(selected()->enabled);
    assert_true((fake->status & VIRTIO_STATUS_FEATURES_OK) != 0);
    assert_int_equal(selected()->reset_reads_left, 0);
    if (selected()->resets == 0) {
        assert_int_equal(fake->status & VIRTIO_STATUS_DRIVER_OK, 0);
    }
}

static void write_size(uint32_t value)
{
    may_configure();
    assert_true(value != 0 && (value & (value - 1)) == 0 && value <= selected()->size_max);
    selected()->ring.size = (uint16_t)value;
}

static void write_half(uint64_t *address, bool high, uint32_t value)
{
    may_configure();
    if (high) {
        *address = (*address & UINT32_MAX) | ((uint64_t)value << 32);
    } else {
        *address = (*address & ~(uint64_t)UINT32_MAX) | value;
    }
}

static void write_enable(uint32_t value)
{
    struct fake_queue *queue = selected();

    assert_int_equal(value, 1);
    may_configure();
    /* 2.7 */
    assert_true(queue->ring.descriptors != 0 && queue->ring.descriptors % 16 == 0);
    assert_true(queue->ring.driver_area != 0 && queue->ring.driver_area % 2 == 0);
    assert_true(queue->ring.device_area != 0 && queue->ring.device_area % 4 == 0);
    queue->enabled = true;
}

/* 2.6.1: the queue is off, and what is known of it forgotten, but for what tests look at. */
static void finish_queue_reset(struct fake_queue *queue)
{
    unsigned resets = queue->resets + 1;

    clear_queue(queue);
    queue->resets = resets;
}

static void write_queue_reset(uint32_t value)
{
    assert_int_equal(value, 1);
    assert_true((fake->accepted & VIRTIO_F_RING_RESET) != 0);
    assert_true(selected()->enabled);
    if (fake->no_queue_reset) {
        return;
    }
    selected()->reset_reads_left = fake->queue_reset_reads;
    if (selected()->reset_reads_left == 0) {
        finish_queue_reset(selected());
    }
}

/* 4.1.4.3.1, 4.2.2.1: 1 until it is over, then 0 here and in the register that enables. */
static uint32_t read_queue_reset(void)
{
    struct fake_queue *queue = selected();

    if (queue->reset_reads_left == 0) {
        return 0;
    }
    if (--queue->reset_reads_left == 0) {
        finish_queue_reset(queue);
    }
    return 1;
}

static void notify(uint32_t index)
{
    assert_true((fake->status & STATUS_ALL) == STATUS_ALL); /* never before DRIVER_OK (3.1.1) */
    assert_true(index < FAKE_QUEUES && fake->queue[index].enabled);
    fake->queue[index].notifications++;
    if (fake->on_notify != NULL) {
        fake->on_notify(index);
    }
}

static uint32_t read_config(uint32_t offset, unsigned bytes)
{
    uint32_t value = 0;

    assert_true(offset < sizeof(fake->config_widths));
    assert_int_equal(bytes, fake->config_widths[offset]); /* as wide as the field */
    memcpy(&value, &fake->config[offset], bytes);
    if (fake->config_changes != 0) {
        fake->config_changes--;
        fake->generation++;
        fake->config[0] ^= 2u;
    }
    return value;
}

static uint32_t mmio_read(uint32_t offset, unsigned bytes)
{
    uint32_t cause;

    if (offset >= 0x100) {
        return read_config(offset - 0x100, bytes);
    }
    assert_int_equal(bytes, 4); /* 4.2.2.2 */
    fake->acknowledge_posted = false;
    switch (offset) {
    case 0x000:
        return fake->magic;
    case 0x004:
        return fake->version;
    case 0x008:
        return fake->device_id;
    case 0x010:
        return read_features();
    case 0x034:
        return selected()->size_max;
    case 0x044:
        return selected()->enabled || fake->ready_stuck;
    case 0x060:
        cause = fake->isr;
        return cause;
    case 0x070:
        return read_status();
    case 0x0c0:
        return read_queue_reset();
    case 0x0fc:
        return fake->generation;
    default:
        fail_msg("read of MMIO register %#x", offset);
        return 0;
    }
}

static void mmio_write(uint32_t offset, unsigned bytes, uint32_t value)
{
    assert_int_equal(bytes, 4);
    switch (offset) {
    case 0x014:
        fake->device_feature_select = value;
        break;
    case 0x020:
        write_features(value);
        break;
    case 0x024:
        fake->driver_feature_select = value;
        break;
    case 0x030:
        fake->queue_select = (uint16_t)value;
        break;
    case 0x038:
        write_size(value);
        break;
    case 0x044:
        write_enable(value);
        break;
    case 0x050:
        notify(value);
        break;
    case 0x064:
        assert_int_equal(value & ~3u, 0); /* only defined bits */
        fake->acknowledge_posted = true;
        if (fake->on_acknowledge != NULL) {
            fake->on_acknowledge();
        }
        if (!fake->line_stuck) {
            fake->isr = (uint8_t)(fake->isr & ~value);
            fake->raised[0] = (fake->isr & 3u) != 0;
        }
        break;
    case 0x070:
        write_status((uint8_t)value);
        break;
    case 0x080:
    case 0x084:
        write_half(&selected()->ring.descriptors, offset == 0x084, value);
        break;
    case 0x090:
    case 0x094:
        write_half(&selected()->ring.driver_area, offset == 0x094, value);
        break;
    case 0x0a0:
    case 0x0a4:
        write_half(&selected()->ring.device_area, offset == 0x0a4, value);
        break;
    case 0x0c0:
        write_queue_reset(value);
        break;
    default: /* the configuration too: a network driver writes none of it (5.1.4) */
        fail_msg("write of MMIO register %#x", offset);
    }
}

static uint16_t granted(uint32_t vector)
{
    return vector < fake->vectors_granted ? (uint16_t)vector : VIRTIO_NO_VECTOR;
}

static unsigned common_width(uint32_t offset)
{
    static const uint8_t width_of[0x3c / 2] = {4, 0, 4, 0, 4, 0, 4, 0, 2, 2, 1, 2, 2, 2, 2,
                                               2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2};

    return offset == 0x15                                      ? 1u
           : (offset % 2 != 0 || offset >= fake->common_bytes) ? 0u
                                                               : width_of[offset / 2];
}

static uint32_t common_read(uint32_t offset, unsigned bytes)
{
    assert_int_equal(bytes, common_width(offset)); /* 4.1.3.1 */
    switch (offset) {
    case 0x04:
        return read_features();
    case 0x10:
        return fake->config_vector;
    case 0x14:
        return read_status();
    case 0x15:
        return fake->generation & 0xffu;
    case 0x18:
        return selected()->ring.size;
    case 0x1a:
        return selected()->vector;
    case 0x1c:
        return selected()->enabled || fake->ready_stuck;
    case 0x1e:
        return selected()->notify_offset;
    case 0x3a:
        return read_queue_reset();
    default:
        fail_msg("read of common register %#x", offset);
        return 0;
    }
}

static void common_write(uint32_t offset, unsigned bytes, uint32_t value)
{
    assert_int_equal(bytes, common_width(offset));
    switch (offset) {
    case 0x00:
        fake->device_feature_select = value;
        break;
    case 0x08:
        fake->driver_feature_select = value;
        break;
    case 0x0c:
        write_features(value);
        break;
    case 0x10:
        fake->config_vector = granted(value);
        break;
    case 0x14:
        write_status((uint8_t)value);
        break;
    case 0x16:
        fake->queue_select = (uint16_t)value;
        break;
    case 0x18:
        write_size(value);
        break;
    case 0x1a:
        may_configure();
        selected()->vector = granted(value);
        break;
    case 0x1c:
        write_enable(value);
        break;
    case 0x20:
    case 0x24:
        write_half(&selected()->ring.descriptors, offset == 0x24, value);
        break;
    case 0x28:
    case 0x2c:
        write_half(&selected()->ring.driver_area, offset == 0x2c, value);
        break;
    case 0x30:
    case 0x34:
        write_half(&selected()->ring.device_area, offset == 0x34, value);
        break;
    case 0x3a:
        write_queue_reset(value);
        break;
    default:
        fail_msg("write of common register %#x", offset);
    }
}

static uint32_t pci_read(uint32_t offset, unsigned bytes)
{
    uint8_t cause;

    if (offset < ISR_OFFSET) {
        return common_read(offset, bytes);
    }
    if (offset >= DEVICE_OFFSET && offset < NOTIFY_OFFSET) {
        return read_config(offset - DEVICE_OFFSET, bytes);
    }
    assert_int_equal(offset, ISR_OFFSET);
    assert_int_equal(bytes, 1);
    assert_true(fake->line); /* says nothing with MSI-X, and costs an exit */
    cause = fake->isr;
    if (!fake->line_stuck) {
        fake->isr = 0;
        fake->raised[0] = false;
    }
    return cause;
}

static void pci_write(uint32_t offset, unsigned bytes, uint32_t value)
{
    if (offset < ISR_OFFSET) {
        common_write(offset, bytes, value);
        return;
    }
    assert_true(offset >= NOTIFY_OFFSET);
    assert_int_equal(bytes, 2);
    assert_true(value < FAKE_QUEUES);
    assert_int_equal(offset - NOTIFY_OFFSET, fake->queue[value].notify_offset * NOTIFY_MULTIPLIER);
    notify(value);
}

uint32_t virtio_platform_read(virtio_register reg, unsigned bytes)
{
    assert_int_equal(reg % bytes, 0);
    if (fake->gone) {
        return UINT32_MAX >> (32 - 8 * bytes);
    }
    if (fake->bus == FAKE_MMIO) {
        return mmio_read((uint32_t)(reg - FAKE_MMIO_BASE), bytes);
    }
    return pci_read((uint32_t)(reg - FAKE_PCI_BASE - COMMON_BAR * FAKE_BAR_BYTES), bytes);
}

void virtio_platform_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    uint32_t offset = fake->bus == FAKE_MMIO
                          ? (uint32_t)(reg - FAKE_MMIO_BASE)
                          : (uint32_t)(reg - FAKE_PCI_BASE - COMMON_BAR * FAKE_BAR_BYTES);

    assert_int_equal(reg % bytes, 0);
    if (fake->trace_count < FAKE_TRACE_MAX) {
        fake->trace[fake->trace_count++] = (struct fake_write){offset, value};
    }
    if (fake->gone) {
        return;
    }
    if (fake->bus == FAKE_MMIO) {
        mmio_write(offset, bytes, value);
    } else {
        pci_write(offset, bytes, value);
    }
}

void fake_pci_capability(struct fake_device *device, unsigned at, unsigned next, unsigned length,
                         unsigned type, unsigned bar, uint32_t offset, uint32_t bytes)
{
    const struct pci_model_virtio structure = {
        .length = (uint8_t)length,
        .type = (uint8_t)type,
        .bar = (uint8_t)bar,
        .offset = offset,
        .bytes = bytes,
    };

    pci_model_set(&device->pci, at, 2, PCI_CAPABILITY_VENDOR | next << 8);
    pci_model_virtio(&device->pci, (uint8_t)at, &structure);
    if (type == 2) {
        pci_model_set(&device->pci, at + 16, 4, NOTIFY_MULTIPLIER);
    }
}

void fake_pci_describe(struct fake_device *device, uint16_t device_id)
{
    pci_model_reset(&device->pci, (uint32_t)device_id << 16 | VIRTIO_PCI_VENDOR);
    pci_model_set(&device->pci, PCI_COMMAND, 2, PCI_COMMAND_INTX_DISABLE);
    pci_model_set(&device->pci, PCI_STATUS, 2, PCI_STATUS_CAPABILITIES);
    pci_model_set(&device->pci, 0x2e, 2, 1); /* subsystem */
    pci_model_set(&device->pci, PCI_CAPABILITIES, 1, 0x84);
    /* MSI-X is not the transport's business. */
    pci_model_set(&device->pci, 0x98, 2, PCI_CAPABILITY_MSIX);
    fake_pci_capability(device, 0x40, 0x98, 20, 2, COMMON_BAR, NOTIFY_OFFSET, 0x1000);
    fake_pci_capability(device, 0x54, 0x40, 16, 4, COMMON_BAR, DEVICE_OFFSET, 0x1000);
    fake_pci_capability(device, 0x64, 0x54, 16, 3, COMMON_BAR, ISR_OFFSET, 0x1000);
    fake_pci_capability(device, 0x74, 0x64, 16, 1, COMMON_BAR, COMMON_OFFSET, 0x1000);
    /* PCI configuration access: of no use here, comes first in QEMU's list too. */
    fake_pci_capability(device, 0x84, 0x74, 20, 5, 0, 0, 0);
    pci_model_bar(&device->pci, COMMON_BAR, 0x4000, PCI_BAR_TYPE_64);
}

void fake_reset_device(struct fake_device *device, enum fake_bus bus, uint16_t vectors)
{
    static const uint8_t widths[17] = {1, 1, 1, 1, 1, 1, 2, 0, 2, 0, 2, 0, 4, 0, 0, 0, 1};
    static const uint8_t mac[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};

    memset(device, 0, offsetof(struct fake_device, queue));
    device->bus = bus;
    device->offered = FAKE_FEATURES_ALL | fake_ring_features;
    device->magic = 0x74726976;
    device->version = 2;
    device->device_id = VIRTIO_DEVICE_NETWORK;
    device->line = vectors == 0;
    device->vectors_granted = vectors;
    memcpy(device->config_widths, widths, sizeof(widths));
    memcpy(device->config, mac, sizeof(mac));
    device->config[6] = 1;                /* link up */
    device->config[8] = 1;                /* queue pairs */
    memset(&device->config[12], 0xff, 5); /* speed and duplex unknown */
    device->common_bytes = 0x3c;
    device->config[10] = 1500 & 0xff;
    device->config[11] = 1500 >> 8;
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        device->queue[i].size_max = 256;
        device->queue[i].notify_offset = (uint16_t)(i + 1);
        clear_queue(&device->queue[i]);
    }
    fake_pci_describe(device, 0x1041);
    fake = device;
}

struct virtio_transport *fake_probe(struct virtio_mmio *mmio, struct virtio_pci *pci)
{
    const char *reason = NULL;

    if (fake->bus == FAKE_MMIO) {
        assert_true(virtio_mmio_probe(mmio, FAKE_MMIO_BASE, 0x200, &reason));
        mmio->transport.pool = fake_pool;
        return &mmio->transport;
    }
    assert_true(
        virtio_pci_probe(pci, (struct virtio_pci_function *)fake, fake->vectors_granted, &reason));
    pci->transport.pool = fake_pool;
    return &pci->transport;
}
