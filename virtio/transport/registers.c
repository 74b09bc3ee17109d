/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transports made of registers: MMIO (VIRTIO 1.3, 4.2.2, 4.2.4) and PCI (4.1.4.3, 4.1.4.10),
 * each in the standard's and in the legacy version. All four have the same registers at different
 * offsets and of different widths. Each register is accessed with its own width (4.1.3.1, 4.2.2.2),
 * an address as two halves. mmio.c and pci.c find the registers.
 */
#include "registers.h"

enum {
    DEVICE_FEATURES_SELECT,
    DEVICE_FEATURES,
    DRIVER_FEATURES_SELECT,
    DRIVER_FEATURES,
    STATUS,
    CONFIG_GENERATION,
    CONFIG_VECTOR,
    QUEUE_SELECT,
    QUEUE_SIZE_MAX,
    QUEUE_SIZE,
    QUEUE_VECTOR,
    QUEUE_ENABLE, /* legacy: the number of the queue's first page, 0 while it is disabled */
    QUEUE_DESCRIPTORS,
    QUEUE_DRIVER,
    QUEUE_DEVICE,
    QUEUE_RESET,
    QUEUE_NOTIFY_OFFSET,
    NOTIFY, /* for modern PCI the table has only the widths of NOTIFY and CAUSE: see pci.c */
    PAGE_SIZE,
    QUEUE_ALIGN,
    CAUSE,
    CAUSE_ACKNOWLEDGE,
    REGISTERS,
};

/* The offset of each register from virtio_transport.registers, by enum virtio_registers, and its
 * width in bytes, which is 0 if the register does not exist. */
static const struct {
    uint16_t offset;
    uint8_t bytes;
} places[REGISTERS][4] = {
    [DEVICE_FEATURES_SELECT] = {{0x014, 4}, {0x014, 4}, {0x00, 4}, {0, 0}},
    [DEVICE_FEATURES] = {{0x010, 4}, {0x010, 4}, {0x04, 4}, {0x00, 4}},
    [DRIVER_FEATURES_SELECT] = {{0x024, 4}, {0x024, 4}, {0x08, 4}, {0, 0}},
    [DRIVER_FEATURES] = {{0x020, 4}, {0x020, 4}, {0x0c, 4}, {0x04, 4}},
    [STATUS] = {{0x070, 4}, {0x070, 4}, {0x14, 1}, {0x12, 1}},
    [CONFIG_GENERATION] = {{0x0fc, 4}, {0, 0}, {0x15, 1}, {0, 0}},
    [CONFIG_VECTOR] = {{0, 0}, {0, 0}, {0x10, 2}, {0x14, 2}},
    [QUEUE_SELECT] = {{0x030, 4}, {0x030, 4}, {0x16, 2}, {0x0e, 2}},
    [QUEUE_SIZE_MAX] = {{0x034, 4}, {0x034, 4}, {0x18, 2}, {0x0c, 2}},
    [QUEUE_SIZE] = {{0x038, 4}, {0x038, 4}, {0x18, 2}, {0, 0}},
    [QUEUE_VECTOR] = {{0, 0}, {0, 0}, {0x1a, 2}, {0x16, 2}},
    [QUEUE_ENABLE] = {{0x044, 4}, {0x040, 4}, {0x1c, 2}, {0x08, 4}},
    [QUEUE_DESCRIPTORS] = {{0x080, 4}, {0, 0}, {0x20, 4}, {0, 0}},
    [QUEUE_DRIVER] = {{0x090, 4}, {0, 0}, {0x28, 4}, {0, 0}},
    [QUEUE_DEVICE] = {{0x0a0, 4}, {0, 0}, {0x30, 4}, {0, 0}},
    [QUEUE_RESET] = {{0x0c0, 4}, {0, 0}, {0x3a, 2}, {0, 0}},
    [QUEUE_NOTIFY_OFFSET] = {{0, 0}, {0, 0}, {0x1e, 2}, {0, 0}},
    [NOTIFY] = {{0x050, 4}, {0x050, 4}, {0, 2}, {0x10, 2}},
    [PAGE_SIZE] = {{0, 0}, {0x028, 4}, {0, 0}, {0, 0}},
    [QUEUE_ALIGN] = {{0, 0}, {0x03c, 4}, {0, 0}, {0, 0}},
    [CAUSE] = {{0x060, 4}, {0x060, 4}, {0, 1}, {0x13, 1}},
    [CAUSE_ACKNOWLEDGE] = {{0x064, 4}, {0x064, 4}, {0, 0}, {0, 0}},
};

static uint32_t get(const struct virtio_transport *transport, unsigned which)
{
    return virtio_platform_read(transport->registers + places[which][transport->kind].offset,
                                places[which][transport->kind].bytes);
}

/* Writes a register; does nothing if the transport lacks it. */
static void put(const struct virtio_transport *transport, unsigned which, uint32_t value)
{
    if (places[which][transport->kind].bytes != 0) {
        virtio_platform_write(transport->registers + places[which][transport->kind].offset,
                              places[which][transport->kind].bytes, value);
    }
}

static uint8_t status(struct virtio_transport *transport)
{
    return (uint8_t)get(transport, STATUS);
}

static void set_status(struct virtio_transport *transport, uint8_t value)
{
    put(transport, STATUS, value);
}

static uint64_t device_features(struct virtio_transport *transport)
{
    uint64_t features = 0;

    if (!transport->legacy) {
        put(transport, DEVICE_FEATURES_SELECT, 1);
        features = (uint64_t)get(transport, DEVICE_FEATURES) << 32;
    }
    put(transport, DEVICE_FEATURES_SELECT, 0);
    return features | get(transport, DEVICE_FEATURES);
}

static void set_driver_features(struct virtio_transport *transport, uint64_t features)
{
    if (!transport->legacy) {
        put(transport, DRIVER_FEATURES_SELECT, 1);
        put(transport, DRIVER_FEATURES, (uint32_t)(features >> 32));
    }
    put(transport, DRIVER_FEATURES_SELECT, 0);
    put(transport, DRIVER_FEATURES, (uint32_t)features);
}

static uint32_t config_generation(struct virtio_transport *transport)
{
    return get(transport, CONFIG_GENERATION);
}

static uint32_t config_read(struct virtio_transport *transport, uint16_t offset, unsigned bytes)
{
    return virtio_platform_read(transport->config + offset, bytes);
}

/*
 * Writes an interrupt vector and reads it back, because a device without resources for it answers
 * NO_VECTOR (4.1.5.1.2.2). Without MSI-X these registers do not exist and are not accessed. Returns
 * false if the device refuses the vector.
 */
static bool set_vector(const struct virtio_transport *transport, unsigned which, uint16_t vector)
{
    if (transport->vectors == 0) {
        return vector == VIRTIO_NO_VECTOR;
    }
    put(transport, which, vector);
    return get(transport, which) == vector;
}

static bool set_config_vector(struct virtio_transport *transport, uint16_t vector)
{
    return set_vector(transport, CONFIG_VECTOR, vector);
}

static uint16_t queue_size_max(struct virtio_transport *transport, uint16_t index)
{
    uint32_t size;

    put(transport, QUEUE_SELECT, index);
    size = get(transport, QUEUE_SIZE_MAX);
    return size > UINT16_MAX ? UINT16_MAX : (uint16_t)size;
}

static bool queue_disabled(struct virtio_transport *transport, uint16_t index)
{
    put(transport, QUEUE_SELECT, index);
    return get(transport, QUEUE_ENABLE) == 0;
}

/* Finds the register that notifications of the selected queue are written to (4.1.4.4, 4.2.3.3).
 * Returns false if it lies outside the notification registers. */
static bool notification_register(const struct virtio_transport *transport, virtio_register *reg)
{
    uint64_t offset = 0;

    if (transport->kind == VIRTIO_REGISTERS_PCI) {
        offset = (uint64_t)get(transport, QUEUE_NOTIFY_OFFSET) * transport->notify_multiplier;
    }
    if (offset + 2 > transport->notify_bytes || offset % 2 != 0) {
        return false;
    }
    *reg = transport->notify + (virtio_register)offset;
    return true;
}

/* Writes a 64-bit address as two halves, the lower one first. */
static void put_address(const struct virtio_transport *transport, unsigned which,
                        virtio_address address)
{
    virtio_register reg = transport->registers + places[which][transport->kind].offset;

    virtio_platform_write(reg, 4, (uint32_t)address);
    virtio_platform_write(reg + 4, 4, (uint32_t)(address >> 32));
}

/* Enables the selected queue of a modern device (4.1.5.1.3, 4.2.3.2). */
static void enable_modern_queue(const struct virtio_transport *transport,
                                const struct virtio_queue_setup *setup)
{
    put_address(transport, QUEUE_DESCRIPTORS, setup->descriptors);
    put_address(transport, QUEUE_DRIVER, setup->driver_area);
    put_address(transport, QUEUE_DEVICE, setup->device_area);
    put(transport, QUEUE_ENABLE, 1);
}

/* Enables the selected queue of a legacy device. The device gets the number of the queue's first
 * page, and derives the places of the queue's parts from its size and alignment
 * (4.1.5.1.3.1, 4.2.4). The driver chooses both the size of a page and the alignment with MMIO; PCI
 * has no such registers. */
static void enable_legacy_queue(const struct virtio_transport *transport, uint32_t page)
{
    put(transport, PAGE_SIZE, VIRTIO_LEGACY_ALIGNMENT);
    put(transport, QUEUE_ALIGN, VIRTIO_LEGACY_ALIGNMENT);
    put(transport, QUEUE_ENABLE, page);
}

static bool queue_enable(struct virtio_transport *transport, const struct virtio_queue_setup *setup,
                         struct virtio_notification *notification, const char **reason)
{
    uint64_t page = setup->descriptors / VIRTIO_LEGACY_ALIGNMENT;

    if (!queue_disabled(transport, setup->index)) { /* selects the queue */
        *reason = "a queue is in use before it was set up";
        return false;
    }
    if (transport->legacy && page > UINT32_MAX) {
        *reason = "a queue's memory lies beyond what a legacy device can address";
        return false;
    }
    put(transport, QUEUE_SIZE, setup->size);
    if (!set_vector(transport, QUEUE_VECTOR, setup->vector)) {
        *reason = "the device refuses a queue's interrupt vector";
        return false;
    }
    if (!notification_register(transport, &notification->reg)) {
        *reason = "a queue's notification address lies outside the notification registers";
        return false;
    }
    notification->value = setup->index;
    transport->queues |= UINT64_C(1) << setup->index;
    if (transport->legacy) {
        enable_legacy_queue(transport, (uint32_t)page);
    } else {
        enable_modern_queue(transport, setup);
    }
    return true;
}

static uint32_t queue_reset(struct virtio_transport *transport, uint16_t index, bool begin)
{
    if (places[QUEUE_RESET][transport->kind].offset + 2u > transport->registers_bytes) {
        return 0; /* before VIRTIO 1.2 the registers end earlier */
    }
    put(transport, QUEUE_SELECT, index);
    if (begin) {
        put(transport, QUEUE_RESET, 1);
    }
    return get(transport, QUEUE_RESET);
}

static void notify(struct virtio_transport *transport,
                   const struct virtio_notification *notification)
{
    virtio_platform_write(notification->reg, places[NOTIFY][transport->kind].bytes,
                          notification->value);
}

static uint32_t read_cause(const struct virtio_transport *transport)
{
    return virtio_platform_read(transport->cause, places[CAUSE][transport->kind].bytes) &
           (VIRTIO_CAUSE_QUEUE | VIRTIO_CAUSE_CONFIG);
}

/*
 * PCI: the read acknowledges (4.1.4.5). MMIO: the defined bits are acknowledged by a write
 * (4.2.2.2). The caller reads the rings next, and must find every buffer there that the device used
 * before the acknowledgement, because the device does not interrupt for that buffer again. A read
 * of a register is complete before later accesses to shared memory (platform.h). A write may still
 * be on its way, so the cause is read once more: registers are accessed in order, so the write has
 * arrived then.
 */
static uint32_t interrupt_cause(struct virtio_transport *transport)
{
    uint32_t cause = read_cause(transport);

    if (cause != 0 && places[CAUSE_ACKNOWLEDGE][transport->kind].bytes != 0) {
        put(transport, CAUSE_ACKNOWLEDGE, cause);
        (void)read_cause(transport);
    }
    return cause;
}

static const struct virtio_transport_operations operations = {
    .status = status,
    .set_status = set_status,
    .device_features = device_features,
    .set_driver_features = set_driver_features,
    .config_generation = config_generation,
    .config_read = config_read,
    .set_config_vector = set_config_vector,
    .queue_size_max = queue_size_max,
    .queue_enable = queue_enable,
    .queue_disabled = queue_disabled,
    .queue_reset = queue_reset,
    .notify = notify,
    .interrupt_cause = interrupt_cause,
};

void virtio_registers_init(struct virtio_transport *transport, enum virtio_registers kind,
                           virtio_register registers, uint32_t bytes)
{
    transport->operations = &operations;
    transport->kind = (uint8_t)kind;
    transport->legacy = kind == VIRTIO_REGISTERS_LEGACY_MMIO || kind == VIRTIO_REGISTERS_LEGACY_PCI;
    transport->registers = registers;
    transport->registers_bytes = bytes;
    if (kind != VIRTIO_REGISTERS_PCI) { /* there these are separate structures: pci.c */
        transport->notify = registers + places[NOTIFY][kind].offset;
        transport->notify_bytes = places[NOTIFY][kind].bytes;
        transport->cause = registers + places[CAUSE][kind].offset;
    }
}
