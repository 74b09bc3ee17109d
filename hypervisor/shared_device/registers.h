/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of a shared device: a virtio device with the MMIO transport (VIRTIO 1.3, 4.2),
 * whose back-end is in another partition. Logic without a lock: the caller serialises all calls for
 * a device. All reads are answered from its description and from what the driver wrote, so a driver
 * waits for the back-end only when it stops a queue.
 */
#ifndef SHARED_DEVICE_REGISTERS_H
#define SHARED_DEVICE_REGISTERS_H

#include "hypervisor/access.h"
#include <arch/shared_device.h>
#include <stdint.h>

#define SHARED_DEVICE_CONFIG_BYTES 64u

/* The device, as the system file describes it. */
struct shared_device_kind {
    uint64_t features;       /* offered; contains VERSION_1 */
    uint64_t required;       /* of these, those that the driver has to accept */
    uint32_t device_id;      /* 5: 1 network card, 2 block device */
    uint32_t queue_count;    /* <= SHARED_DEVICE_QUEUES */
    uint32_t queue_size_max; /* a power of two */
    uint32_t config_bytes;   /* <= SHARED_DEVICE_CONFIG_BYTES */
};

/* The driver's registers that the back-end does not need. All zero after a reset, but for `config`
 * and `config_generation`. */
struct shared_device_registers {
    uint32_t features_select;
    uint32_t accepted_select;
    uint32_t queue_select;
    uint32_t interrupt_status;
    uint32_t config_generation;
    uint8_t config[SHARED_DEVICE_CONFIG_BYTES]; /* the configuration space (2.5) */
};

struct shared_device {
    const struct shared_device_kind *kind;
    struct shared_device_registers *registers;
    struct shared_device_page *page;
};

/* The caller's work after an access. */
enum shared_device_effect {
    SHARED_DEVICE_NONE,
    SHARED_DEVICE_RING, /* ring the back-end's doorbell */
    SHARED_DEVICE_STOP, /* do that, and complete the access when the back-end has acknowledged
                           page->generation, or serves the device no more */
    /* Complete the access at that time: it changes nothing, but the stop that an earlier access
     * began may not be over. So the driver may repeat an access that stops a queue. */
    SHARED_DEVICE_WAIT,
};

/* Handles an access of the driver. access->offset: in the device's page. Returns ACCESS_REFUSED for
 * a register that does not exist, or an access of another size than the register's, otherwise
 * ACCESS_DONE; *effect in both cases. */
enum access_result shared_device_access(const struct shared_device *device, struct access *access,
                                        enum shared_device_effect *effect);

/* Stops all queues and resets the registers, as the driver does, or because its partition stops or
 * starts. Returns true if the driver had used the device since the last reset: then
 * page->generation has changed, and the back-end has to acknowledge it. */
bool shared_device_reset(const struct shared_device *device);

/* The back-end has finished buffers, or wants the driver to be told of a change of the
 * configuration: VIRTIO_MMIO_INTERRUPT_USED, VIRTIO_MMIO_INTERRUPT_CONFIG. Returns true if the
 * driver's interrupt is to be raised. */
bool shared_device_interrupt(const struct shared_device *device, uint32_t causes);

/* Changes the configuration space. Returns true if the driver's interrupt is to be raised. Bytes
 * beyond it are ignored. */
bool shared_device_configure(const struct shared_device *device, uint32_t offset,
                             const uint8_t *bytes, uint32_t count);

/* The back-end can't serve the device any more (2.1.2). Returns true if the driver's interrupt is
 * to be raised. */
bool shared_device_fail(const struct shared_device *device);

#endif
