/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks by the registers of a shared device (virtio,mmio), which the hypervisor emulates, and
 * behind which a back-end serves other clients, too. */
#include "kernel/print.h"
#include "rogue.h"
#include <arch/device_access.h>
#include <devices/virtio_mmio_registers.h>
#include <string.h>

#define QUEUES     3u
#define QUEUE_SIZE 256u
#define RING_BYTES 8192u
#define ACCESSES   20000u
#define DOORBELLS  20000u
#define RESETS     1000u
#define VERSION_1  1u /* of the upper features */
/* Acknowledged, driver, features accepted, driver is ready. */
#define STARTED 0xfu

static _Alignas(RING_BYTES) uint8_t rings[QUEUES][RING_BYTES];

static void set_address(uintptr_t at, uint32_t offset, const uint8_t *memory)
{
    device_write32(at + offset, (uint32_t)(uintptr_t)memory);
    device_write32(at + offset + 4, (uint32_t)((uintptr_t)memory >> 32));
}

static void set_up_queue(uintptr_t at, unsigned number)
{
    device_write32(at + VIRTIO_MMIO_QUEUE_SELECT, number);
    device_write32(at + VIRTIO_MMIO_QUEUE_SIZE, QUEUE_SIZE);
    set_address(at, VIRTIO_MMIO_QUEUE_DESCRIPTORS, rings[number]);
    set_address(at, VIRTIO_MMIO_QUEUE_DRIVER_AREA, &rings[number][4096]);
    set_address(at, VIRTIO_MMIO_QUEUE_DEVICE_AREA, &rings[number][5120]);
    device_write32(at + VIRTIO_MMIO_QUEUE_READY, 1);
}

/* Resets the device, and starts it as a driver does. */
static void start_device(uintptr_t at)
{
    device_write32(at + VIRTIO_MMIO_STATUS, 0);
    device_write32(at + VIRTIO_MMIO_STATUS, 1);
    device_write32(at + VIRTIO_MMIO_STATUS, 3);
    device_write32(at + VIRTIO_MMIO_ACCEPTED_SELECT, 1);
    device_write32(at + VIRTIO_MMIO_ACCEPTED, VERSION_1);
    device_write32(at + VIRTIO_MMIO_STATUS, 0xb);
    for (unsigned i = 0; i < QUEUES; i++) {
        set_up_queue(at, i);
    }
    device_write32(at + VIRTIO_MMIO_STATUS, STARTED);
}

/* Writes anything to the rings. */
static void scramble_rings(void)
{
    for (size_t i = 0; i < sizeof(rings); i += sizeof(uint64_t)) {
        uint64_t value = random_next();

        memcpy((uint8_t *)rings + i, &value, sizeof(value));
    }
}

void attack_device(uint64_t where)
{
    uintptr_t at = reach(where, PAGE);

    scribble_registers(at, PAGE, 1);
    for (unsigned i = 0; i < ACCESSES; i++) {
        uint64_t value = random_next();
        uint32_t offset = (uint32_t)(value >> 32) % (VIRTIO_MMIO_CONFIG + 16) & ~3u;

        if (i % 64 == 0) {
            start_device(at);
        }
        device_write32(at + offset, (value & 1) != 0 ? (uint32_t)value : value >> 1 & 0xfu);
        (void)device_read32(at + offset);
    }
    device_write32(at + VIRTIO_MMIO_STATUS, 0);
    print("%u accesses\n", ACCESSES);
}

void attack_doorbells(uint64_t where)
{
    uintptr_t at = reach(where, PAGE);

    memset(rings, 0, sizeof(rings));
    start_device(at);
    for (unsigned i = 0; i < DOORBELLS; i++) {
        device_write32(at + VIRTIO_MMIO_QUEUE_NOTIFY, i % QUEUES);
    }
    device_write32(at + VIRTIO_MMIO_STATUS, 0);
    print("%u doorbells\n", DOORBELLS);
}

void attack_resets(uint64_t where)
{
    uintptr_t at = reach(where, PAGE);

    for (unsigned i = 0; i < RESETS; i++) {
        if (i % 2 == 0) {
            scramble_rings();
        } else {
            memset(rings, 0, sizeof(rings));
        }
        start_device(at);
        device_write32(at + VIRTIO_MMIO_QUEUE_NOTIFY, i % QUEUES);
    }
    device_write32(at + VIRTIO_MMIO_STATUS, 0);
    print("%u resets\n", RESETS);
}

/* Cache maintenance of an address that is not memory. */
void attack_clean(uint64_t where)
{
    uintptr_t at = reach(where, PAGE);

    __asm__ volatile("dc cvac, %0\n\tdc civac, %0\n\tic ivau, %0\n\tdsb sy" : : "r"(at) : "memory");
}

/* DC ZVA of an address that is not memory: mapped as memory, because the processor itself refuses
 * it for Device memory. */
void attack_zero(uint64_t where)
{
    uintptr_t at = reach_as_memory(where);

    __asm__ volatile("dc zva, %0\n\tdsb sy" : : "r"(at) : "memory");
}
