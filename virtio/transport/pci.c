/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PCI transport (VIRTIO 1.3, 4.1): the operations, over the modern interface's registers and
 * the legacy one's. How they are found is in pci_probe.c. Each field is accessed with its own width
 * (4.1.3.1), 64-bit ones as two halves.
 */
#include "pci_private.h"

/* struct virtio_pci_common_cfg, 4.1.4.3 */
enum {
    DEVICE_FEATURE_SELECT = 0x00,
    DEVICE_FEATURE = 0x04,
    DRIVER_FEATURE_SELECT = 0x08,
    DRIVER_FEATURE = 0x0c,
    CONFIG_MSIX_VECTOR = 0x10,
    DEVICE_STATUS = 0x14,
    CONFIG_GENERATION = 0x15,
    QUEUE_SELECT = 0x16,
    QUEUE_SIZE = 0x18,
    QUEUE_MSIX_VECTOR = 0x1a,
    QUEUE_ENABLE = 0x1c,
    QUEUE_NOTIFY_OFFSET = 0x1e,
    QUEUE_DESCRIPTORS = 0x20,
    QUEUE_DRIVER = 0x28,
    QUEUE_DEVICE = 0x30,
    QUEUE_RESET = 0x3a,
};

/* 4.1.4.10; what comes after is in registers_of[] */
enum {
    LEGACY_DEVICE_FEATURES = 0x00,
    LEGACY_DRIVER_FEATURES = 0x04,
    LEGACY_QUEUE_PAGE = 0x08,
};

/* What both interfaces have, in different places. */
static const struct {
    uint8_t status;
    uint8_t queue_select;
    uint8_t queue_size;
    uint8_t config_vector;
    uint8_t queue_vector;
} registers_of[2] = {
    {DEVICE_STATUS, QUEUE_SELECT, QUEUE_SIZE, CONFIG_MSIX_VECTOR, QUEUE_MSIX_VECTOR},
    {0x12, 0x0e, 0x0c, 0x14, 0x16},
};

static struct virtio_pci *pci_of(struct virtio_transport *transport)
{
    return (struct virtio_pci *)transport;
}

/* A register of registers_of[]. */
#define REGISTER(transport, name) \
    (pci_of(transport)->common + registers_of[(transport)->legacy].name)

static uint8_t pci_status(struct virtio_transport *transport)
{
    return virtio_platform_read8(REGISTER(transport, status));
}

static void pci_set_status(struct virtio_transport *transport, uint8_t status)
{
    virtio_platform_write8(REGISTER(transport, status), status);
}

static uint64_t pci_device_features(struct virtio_transport *transport)
{
    virtio_register common = pci_of(transport)->common;
    uint64_t features;

    if (transport->legacy) {
        return virtio_platform_read32(common + LEGACY_DEVICE_FEATURES);
    }
    virtio_platform_write32(common + DEVICE_FEATURE_SELECT, 1);
    features = (uint64_t)virtio_platform_read32(common + DEVICE_FEATURE) << 32;
    virtio_platform_write32(common + DEVICE_FEATURE_SELECT, 0);
    return features | virtio_platform_read32(common + DEVICE_FEATURE);
}

static void pci_set_driver_features(struct virtio_transport *transport, uint64_t features)
{
    virtio_register common = pci_of(transport)->common;

    if (transport->legacy) {
        virtio_platform_write32(common + LEGACY_DRIVER_FEATURES, (uint32_t)features);
        return;
    }
    virtio_platform_write32(common + DRIVER_FEATURE_SELECT, 1);
    virtio_platform_write32(common + DRIVER_FEATURE, (uint32_t)(features >> 32));
    virtio_platform_write32(common + DRIVER_FEATURE_SELECT, 0);
    virtio_platform_write32(common + DRIVER_FEATURE, (uint32_t)features);
}

static uint32_t pci_config_generation(struct virtio_transport *transport)
{
    return virtio_platform_read8(pci_of(transport)->common + CONFIG_GENERATION);
}

static uint32_t pci_config_read(struct virtio_transport *transport, uint16_t offset, unsigned bytes)
{
    virtio_register reg = pci_of(transport)->device + offset;

    switch (bytes) {
    case 1:
        return virtio_platform_read8(reg);
    case 2:
        return virtio_platform_read16(reg);
    default:
        return virtio_platform_read32(reg);
    }
}

/*
 * 4.1.5.1.2.2: the vector is read back; NO_VECTOR means the device had no resources for it. Without
 * MSI-X these registers mean nothing and are left alone.
 */
static bool set_vector(const struct virtio_transport *transport, virtio_register reg,
                       uint16_t vector)
{
    if (transport->vectors == 0) {
        return vector == VIRTIO_NO_VECTOR;
    }
    virtio_platform_write16(reg, vector);
    return virtio_platform_read16(reg) == vector;
}

static bool pci_set_config_vector(struct virtio_transport *transport, uint16_t vector)
{
    return set_vector(transport, REGISTER(transport, config_vector), vector);
}

static uint16_t pci_queue_size_max(struct virtio_transport *transport, uint16_t index)
{
    virtio_platform_write16(REGISTER(transport, queue_select), index);
    return virtio_platform_read16(REGISTER(transport, queue_size));
}

static bool pci_queue_disabled(struct virtio_transport *transport, uint16_t index)
{
    virtio_register common = pci_of(transport)->common;

    virtio_platform_write16(REGISTER(transport, queue_select), index);
    return transport->legacy ? virtio_platform_read32(common + LEGACY_QUEUE_PAGE) == 0
                             : virtio_platform_read16(common + QUEUE_ENABLE) == 0;
}

/* 4.1.4.4: where the notifications of the selected queue go. */
static bool notification_register(struct virtio_pci *pci, virtio_register *reg)
{
    uint64_t offset = 0;

    if (!pci->transport.legacy) {
        offset = (uint64_t)virtio_platform_read16(pci->common + QUEUE_NOTIFY_OFFSET) *
                 pci->notify_multiplier;
    }
    if (offset + 2 > pci->notify_bytes || offset % 2 != 0) {
        return false;
    }
    *reg = pci->notify + (virtio_register)offset;
    return true;
}

static void write_address(virtio_register reg, virtio_address address)
{
    virtio_platform_write32(reg, (uint32_t)address);
    virtio_platform_write32(reg + 4, (uint32_t)(address >> 32));
}

/* 4.1.5.1.3 */
static void enable_modern(virtio_register common, const struct virtio_queue_setup *setup)
{
    write_address(common + QUEUE_DESCRIPTORS, setup->descriptors);
    write_address(common + QUEUE_DRIVER, setup->driver_area);
    write_address(common + QUEUE_DEVICE, setup->device_area);
    virtio_platform_write16(common + QUEUE_ENABLE, 1);
}

static bool pci_queue_enable(struct virtio_transport *transport,
                             const struct virtio_queue_setup *setup,
                             struct virtio_notification *notification, const char **reason)
{
    struct virtio_pci *pci = pci_of(transport);
    uint64_t page = setup->descriptors / VIRTIO_LEGACY_ALIGNMENT;

    if (!pci_queue_disabled(transport, setup->index)) {
        *reason = "a queue is in use before it was set up";
        return false;
    }
    if (!transport->legacy) {
        virtio_platform_write16(pci->common + QUEUE_SIZE, setup->size);
    } else if (page > UINT32_MAX) {
        *reason = "a queue's memory lies beyond what a legacy device can address";
        return false;
    }
    if (!set_vector(transport, REGISTER(transport, queue_vector), setup->vector)) {
        *reason = "the device refuses a queue's interrupt vector";
        return false;
    }
    if (!notification_register(pci, &notification->reg)) {
        *reason = "a queue's notification address lies outside the notification registers";
        return false;
    }
    notification->value = setup->index;
    transport->queues |= UINT64_C(1) << setup->index;
    if (transport->legacy) { /* 4.1.5.1.3.1: the device finds the parts by the queue's size */
        virtio_platform_write32(pci->common + LEGACY_QUEUE_PAGE, (uint32_t)page);
    } else {
        enable_modern(pci->common, setup);
    }
    return true;
}

static uint32_t pci_queue_reset(struct virtio_transport *transport, uint16_t index, bool begin)
{
    struct virtio_pci *pci = pci_of(transport);

    if (pci->common_bytes < QUEUE_RESET + 2) { /* from before VIRTIO 1.2: ends earlier */
        return 0;
    }
    virtio_platform_write16(pci->common + QUEUE_SELECT, index);
    if (begin) {
        virtio_platform_write16(pci->common + QUEUE_RESET, 1);
    }
    return virtio_platform_read16(pci->common + QUEUE_RESET);
}

static void pci_notify(struct virtio_transport *transport,
                       const struct virtio_notification *notification)
{
    (void)transport;
    virtio_platform_write16(notification->reg, (uint16_t)notification->value);
}

static uint32_t pci_interrupt_cause(struct virtio_transport *transport)
{
    /* Reading acknowledges (4.1.4.5). */
    return virtio_platform_read8(pci_of(transport)->isr) &
           (VIRTIO_CAUSE_QUEUE | VIRTIO_CAUSE_CONFIG);
}

const struct virtio_transport_operations virtio_pci_operations = {
    .status = pci_status,
    .set_status = pci_set_status,
    .device_features = pci_device_features,
    .set_driver_features = pci_set_driver_features,
    .config_generation = pci_config_generation,
    .config_read = pci_config_read,
    .set_config_vector = pci_set_config_vector,
    .queue_size_max = pci_queue_size_max,
    .queue_enable = pci_queue_enable,
    .queue_disabled = pci_queue_disabled,
    .queue_reset = pci_queue_reset,
    .notify = pci_notify,
    .interrupt_cause = pci_interrupt_cause,
};
