/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of the client's device, on the hypervisor's code of them. */
#include "attacker.h"

#include <devices/virtio_mmio_registers.h>
#include <string.h>

static struct shared_device_kind kind;
static struct shared_device_registers state;
static struct shared_device device;
static const uint32_t *last_acknowledged;

void registers_begin(const struct shared_device_kind *described, struct shared_device_page *page,
                     const uint32_t *acknowledged)
{
    kind = *described;
    memset(&state, 0, sizeof(state));
    device = (struct shared_device){&kind, &state, page};
    last_acknowledged = acknowledged;
}

const struct shared_device_page *registers_page(void)
{
    return device.page;
}

void registers_write(uint32_t offset, uint32_t value)
{
    struct access access = {.offset = offset, .bytes = 4, .write = true, .value = value};
    enum shared_device_effect effect;

    (void)shared_device_access(&device, &access, &effect);
}

uint32_t registers_read(uint32_t offset)
{
    struct access access = {.offset = offset, .bytes = 4};
    enum shared_device_effect effect;

    (void)shared_device_access(&device, &access, &effect);
    return (uint32_t)access.value;
}

void registers_write_any(uint8_t which, uint32_t value)
{
    static const uint16_t offsets[] = {
        VIRTIO_MMIO_FEATURES_SELECT,
        VIRTIO_MMIO_ACCEPTED_SELECT,
        VIRTIO_MMIO_ACCEPTED,
        VIRTIO_MMIO_QUEUE_SELECT,
        VIRTIO_MMIO_QUEUE_SIZE,
        VIRTIO_MMIO_QUEUE_READY,
        VIRTIO_MMIO_QUEUE_NOTIFY,
        VIRTIO_MMIO_INTERRUPT_ACK,
        VIRTIO_MMIO_STATUS,
        VIRTIO_MMIO_QUEUE_DESCRIPTORS,
        VIRTIO_MMIO_QUEUE_DRIVER_AREA,
        VIRTIO_MMIO_QUEUE_DEVICE_AREA,
        VIRTIO_MMIO_QUEUE_READY,
        VIRTIO_MMIO_QUEUE_DESCRIPTORS + 4,
    };

    registers_write(offsets[which % (sizeof(offsets) / sizeof(offsets[0]))], value);
}

static void write_address(uint32_t offset, uint64_t address)
{
    registers_write(offset, (uint32_t)address);
    registers_write(offset + 4, (uint32_t)(address >> 32));
}

static void set_up_queue(unsigned number, uint32_t size)
{
    uint64_t ring = ATTACKER_START + (uint64_t)number * ATTACKER_RING_BYTES;

    memset(memory_at(ring, ATTACKER_RING_BYTES), 0, ATTACKER_RING_BYTES);
    registers_write(VIRTIO_MMIO_QUEUE_SELECT, number);
    registers_write(VIRTIO_MMIO_QUEUE_SIZE, size);
    write_address(VIRTIO_MMIO_QUEUE_DESCRIPTORS, ring);
    write_address(VIRTIO_MMIO_QUEUE_DRIVER_AREA, ring + 4096);
    write_address(VIRTIO_MMIO_QUEUE_DEVICE_AREA, ring + 5120);
    registers_write(VIRTIO_MMIO_QUEUE_READY, 1);
}

void registers_start(uint64_t features, uint32_t size)
{
    registers_reset();
    rings_begin();
    registers_write(VIRTIO_MMIO_STATUS, 1);
    registers_write(VIRTIO_MMIO_STATUS, 3);
    for (uint32_t half = 0; half < 2; half++) {
        registers_write(VIRTIO_MMIO_ACCEPTED_SELECT, half);
        registers_write(VIRTIO_MMIO_ACCEPTED, (uint32_t)(features >> 32 * half));
    }
    registers_write(VIRTIO_MMIO_STATUS, 0xb);
    for (unsigned i = 0; i < kind.queue_count; i++) {
        set_up_queue(i, size);
    }
    registers_write(VIRTIO_MMIO_STATUS, 0xf);
}

void registers_reset(void)
{
    registers_write(VIRTIO_MMIO_STATUS, 0);
}

bool registers_are_acknowledged(void)
{
    return *last_acknowledged == device.page->generation;
}

bool registers_are_stopped(void)
{
    return registers_are_acknowledged() &&
           (device.page->status & VIRTIO_MMIO_STATUS_DRIVER_OK) == 0;
}
