/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The MMIO transport (VIRTIO 1.3, 4.2), version 2 and the legacy version 1 (4.2.4), which differ in
 * how a queue is described. Control registers are accessed with 32 bits only (4.2.2.2); those of
 * shared memory regions and anything else not named below are left alone.
 */
#include "virtio/mmio.h"
#include "virtio/endian.h"

/* 4.2.2, table 4.1 */
enum {
    MAGIC_VALUE = 0x000,
    VERSION = 0x004,
    DEVICE_ID = 0x008,
    DEVICE_FEATURES = 0x010,
    DEVICE_FEATURES_SELECT = 0x014,
    DRIVER_FEATURES = 0x020,
    DRIVER_FEATURES_SELECT = 0x024,
    GUEST_PAGE_SIZE = 0x028, /* legacy */
    QUEUE_SELECT = 0x030,
    QUEUE_SIZE_MAX = 0x034,
    QUEUE_SIZE = 0x038,
    QUEUE_ALIGN = 0x03c, /* legacy */
    QUEUE_PAGE = 0x040,  /* legacy */
    QUEUE_READY = 0x044,
    QUEUE_NOTIFY = 0x050,
    INTERRUPT_STATUS = 0x060,
    INTERRUPT_ACKNOWLEDGE = 0x064,
    STATUS = 0x070,
    QUEUE_DESCRIPTORS_LOW = 0x080,
    QUEUE_DESCRIPTORS_HIGH = 0x084,
    QUEUE_DRIVER_LOW = 0x090,
    QUEUE_DRIVER_HIGH = 0x094,
    QUEUE_DEVICE_LOW = 0x0a0,
    QUEUE_DEVICE_HIGH = 0x0a4,
    QUEUE_RESET = 0x0c0,
    CONFIG_GENERATION = 0x0fc,
    CONFIG = 0x100,
};

#define MAGIC          0x74726976u /* "virt" */
#define VERSION_LEGACY 1u
#define VERSION_MODERN 2u

static uint32_t read_register(struct virtio_transport *transport, virtio_register offset)
{
    return virtio_platform_read32(((struct virtio_mmio *)transport)->base + offset);
}

static void write_register(struct virtio_transport *transport, virtio_register offset,
                           uint32_t value)
{
    virtio_platform_write32(((struct virtio_mmio *)transport)->base + offset, value);
}

static uint8_t mmio_status(struct virtio_transport *transport)
{
    return (uint8_t)read_register(transport, STATUS);
}

static void mmio_set_status(struct virtio_transport *transport, uint8_t status)
{
    write_register(transport, STATUS, status);
}

static uint64_t mmio_device_features(struct virtio_transport *transport)
{
    uint64_t features = 0;

    if (!transport->legacy) {
        write_register(transport, DEVICE_FEATURES_SELECT, 1);
        features = (uint64_t)read_register(transport, DEVICE_FEATURES) << 32;
    }
    write_register(transport, DEVICE_FEATURES_SELECT, 0);
    return features | read_register(transport, DEVICE_FEATURES);
}

static void mmio_set_driver_features(struct virtio_transport *transport, uint64_t features)
{
    if (!transport->legacy) {
        write_register(transport, DRIVER_FEATURES_SELECT, 1);
        write_register(transport, DRIVER_FEATURES, (uint32_t)(features >> 32));
    }
    write_register(transport, DRIVER_FEATURES_SELECT, 0);
    write_register(transport, DRIVER_FEATURES, (uint32_t)features);
}

static uint32_t mmio_config_generation(struct virtio_transport *transport)
{
    return read_register(transport, CONFIG_GENERATION);
}

static uint32_t mmio_config_read(struct virtio_transport *transport, uint16_t offset,
                                 unsigned bytes)
{
    virtio_register reg = ((struct virtio_mmio *)transport)->base + CONFIG + offset;

    /* 4.2.2.2: accesses as wide as the field. */
    switch (bytes) {
    case 1:
        return virtio_platform_read8(reg);
    case 2:
        return virtio_platform_read16(reg);
    default:
        return virtio_platform_read32(reg);
    }
}

static bool mmio_set_config_vector(struct virtio_transport *transport, uint16_t vector)
{
    (void)transport;
    return vector == VIRTIO_NO_VECTOR;
}

static uint16_t mmio_queue_size_max(struct virtio_transport *transport, uint16_t index)
{
    uint32_t size;

    write_register(transport, QUEUE_SELECT, index);
    size = read_register(transport, QUEUE_SIZE_MAX);
    return size > UINT16_MAX ? UINT16_MAX : (uint16_t)size;
}

static void write_address(struct virtio_transport *transport, virtio_register low,
                          virtio_address address)
{
    write_register(transport, low, (uint32_t)address);
    write_register(transport, low + 4, (uint32_t)(address >> 32));
}

static bool mmio_queue_disabled(struct virtio_transport *transport, uint16_t index)
{
    write_register(transport, QUEUE_SELECT, index);
    return read_register(transport, transport->legacy ? QUEUE_PAGE : QUEUE_READY) == 0;
}

/* 4.2.4: the address in pages of a size that the driver chooses; the device finds the parts of the
 * queue from its size and alignment. */
static bool enable_legacy_queue(struct virtio_transport *transport,
                                const struct virtio_queue_setup *setup)
{
    uint64_t page = setup->descriptors / VIRTIO_LEGACY_ALIGNMENT;

    if (page > UINT32_MAX) {
        return false;
    }
    write_register(transport, GUEST_PAGE_SIZE, VIRTIO_LEGACY_ALIGNMENT);
    write_register(transport, QUEUE_ALIGN, VIRTIO_LEGACY_ALIGNMENT);
    write_register(transport, QUEUE_PAGE, (uint32_t)page);
    return true;
}

/* 4.2.3.2 */
static bool mmio_queue_enable(struct virtio_transport *transport,
                              const struct virtio_queue_setup *setup,
                              struct virtio_notification *notification, const char **reason)
{
    if (!mmio_queue_disabled(transport, setup->index)) {
        *reason = "a queue is in use before it was set up";
        return false;
    }
    write_register(transport, QUEUE_SIZE, setup->size);
    transport->queues |= UINT64_C(1) << setup->index;
    if (!transport->legacy) {
        write_address(transport, QUEUE_DESCRIPTORS_LOW, setup->descriptors);
        write_address(transport, QUEUE_DRIVER_LOW, setup->driver_area);
        write_address(transport, QUEUE_DEVICE_LOW, setup->device_area);
        write_register(transport, QUEUE_READY, 1);
    } else if (!enable_legacy_queue(transport, setup)) {
        *reason = "a queue's memory lies beyond what a legacy device can address";
        return false;
    }
    notification->reg = ((struct virtio_mmio *)transport)->base + QUEUE_NOTIFY;
    notification->value = setup->index;
    return true;
}

static uint32_t mmio_queue_reset(struct virtio_transport *transport, uint16_t index, bool begin)
{
    write_register(transport, QUEUE_SELECT, index);
    if (begin) {
        write_register(transport, QUEUE_RESET, 1);
    }
    return read_register(transport, QUEUE_RESET);
}

static void mmio_notify(struct virtio_transport *transport,
                        const struct virtio_notification *notification)
{
    (void)transport;
    virtio_platform_write32(notification->reg, notification->value);
}

static uint32_t mmio_interrupt_cause(struct virtio_transport *transport)
{
    uint32_t cause = read_register(transport, INTERRUPT_STATUS);

    /* 4.2.2.2: only bits that are defined and handled are acknowledged. */
    cause &= VIRTIO_CAUSE_QUEUE | VIRTIO_CAUSE_CONFIG;
    if (cause != 0) {
        write_register(transport, INTERRUPT_ACKNOWLEDGE, cause);
    }
    return cause;
}

static const struct virtio_transport_operations mmio_operations = {
    .status = mmio_status,
    .set_status = mmio_set_status,
    .device_features = mmio_device_features,
    .set_driver_features = mmio_set_driver_features,
    .config_generation = mmio_config_generation,
    .config_read = mmio_config_read,
    .set_config_vector = mmio_set_config_vector,
    .queue_size_max = mmio_queue_size_max,
    .queue_enable = mmio_queue_enable,
    .queue_disabled = mmio_queue_disabled,
    .queue_reset = mmio_queue_reset,
    .notify = mmio_notify,
    .interrupt_cause = mmio_interrupt_cause,
};

bool virtio_mmio_probe(struct virtio_mmio *mmio, virtio_register base, size_t bytes,
                       const char **reason)
{
    struct virtio_transport *transport = &mmio->transport;
    size_t config_bytes = bytes - CONFIG;
    uint32_t version;

    *mmio = (struct virtio_mmio){.base = base};
    *reason = NULL;
    if (bytes < CONFIG) {
        *reason = "the register region is smaller than virtio's registers";
        return false;
    }
    if (read_register(transport, MAGIC_VALUE) != MAGIC) {
        *reason = "the registers do not begin with virtio's magic value";
        return false;
    }
    version = read_register(transport, VERSION);
    transport->device_type = read_register(transport, DEVICE_ID);
    if (transport->device_type == 0) { /* 4.2.2.2: a place holder, not worth a word */
        return false;
    }
    transport->legacy = version == VERSION_LEGACY && !virtio_big_endian();
    if (version != VERSION_MODERN && !transport->legacy) {
        *reason = "a version of virtio's registers that this driver does not speak";
        return false;
    }
    transport->config_bytes = config_bytes > UINT16_MAX ? UINT16_MAX : (uint16_t)config_bytes;
    transport->operations = &mmio_operations;
    return true;
}
