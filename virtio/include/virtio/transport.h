/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a driver reaches its device (VIRTIO 1.3, 4): one table of operations for each bus, chosen at
 * run time by the probe of that bus (virtio/mmio.h, virtio/pci.h), and on top of it what is the
 * same for all of them: device status, feature negotiation, configuration reads that are
 * consistent.
 *
 * Thread context and one caller at a time for everything, except notify, interrupt_cause, status
 * and set_status (any context). A transport outlives the driver that uses it.
 */
#ifndef VIRTIO_TRANSPORT_H
#define VIRTIO_TRANSPORT_H

#include "virtio/features.h"
#include "virtio/platform.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of interrupt_cause(): the same in MMIO's InterruptStatus (4.2.2) and PCI's ISR status
 * (4.1.4.5). */
#define VIRTIO_CAUSE_QUEUE  0x1u
#define VIRTIO_CAUSE_CONFIG 0x2u

/* No interrupt vector (VIRTIO_MSI_NO_VECTOR, 4.1.5.1.2). */
#define VIRTIO_NO_VECTOR 0xffffu

/* How a legacy device wants a queue's memory, and the used ring in it, to be aligned (2.7.2). */
#define VIRTIO_LEGACY_ALIGNMENT 4096u

/* Queues of one device that this library can address. */
#define VIRTIO_QUEUES_MAX 64u

struct virtio_transport;

/* What a driver tells the device about a queue before it enables it. */
struct virtio_queue_setup {
    uint16_t index; /* which of the device's queues, < VIRTIO_QUEUES_MAX */
    uint16_t size;  /* entries, <= queue_size_max(); exactly that with queue_size_fixed */
    uint16_t
        vector; /* VIRTIO_NO_VECTOR: none; anything but that only if transport->vectors > vector */
    virtio_address descriptors;
    virtio_address driver_area; /* available ring */
    virtio_address device_area; /* used ring */
};

/* Where and what to write to notify the device about one queue; filled in by queue_enable(). */
struct virtio_notification {
    virtio_register reg;
    uint32_t value;
};

struct virtio_transport_operations {
    uint8_t (*status)(struct virtio_transport *transport);
    void (*set_status)(struct virtio_transport *transport, uint8_t status);
    uint64_t (*device_features)(struct virtio_transport *transport);
    void (*set_driver_features)(struct virtio_transport *transport, uint64_t features);

    /* Not of a legacy device. */
    uint32_t (*config_generation)(struct virtio_transport *transport);
    /* Naturally aligned, `bytes` of 1, 2 or 4, inside config_bytes. */
    uint32_t (*config_read)(struct virtio_transport *transport, uint16_t offset, unsigned bytes);
    /* The vector for configuration changes. False: the device refused it. */
    bool (*set_config_vector)(struct virtio_transport *transport, uint16_t vector);

    /* The most entries the queue can have; 0: the device has no such queue. */
    uint16_t (*queue_size_max)(struct virtio_transport *transport, uint16_t index);
    /* Writes the set-up and enables the queue. False: *reason says why not. */
    bool (*queue_enable)(struct virtio_transport *transport, const struct virtio_queue_setup *setup,
                         struct virtio_notification *notification, const char **reason);
    /* True once the device has let go of the queue; after a reset. */
    bool (*queue_disabled)(struct virtio_transport *transport, uint16_t index);
    /* RING_RESET (2.6.1): the queue's reset register, after 1 was written to it if `begin`. NULL: a
     * transport without. */
    uint32_t (*queue_reset)(struct virtio_transport *transport, uint16_t index, bool begin);
    void (*notify)(struct virtio_transport *transport,
                   const struct virtio_notification *notification);

    /*
     * Returns which VIRTIO_CAUSE_ bits were pending, and acknowledges them. Both have taken effect
     * at the device before any later read of shared memory: see platform.h. Only when vectors == 0,
     * because reading has side effects on a line, and says nothing with vectors (4.1.4.5).
     */
    uint32_t (*interrupt_cause)(struct virtio_transport *transport);
};

/* The part every transport begins with. The probes fill it in; drivers read it. */
struct virtio_transport {
    const struct virtio_transport_operations *operations;
    uint32_t device_type;  /* VIRTIO_DEVICE_ */
    uint16_t vectors;      /* message-signalled interrupt vectors the driver may use; 0: one line */
    bool line_shared;      /* other devices may raise it too (PCI) */
    uint32_t config_bytes; /* of the device-specific configuration that may be read */
    uint64_t queues;       /* bit i: queue i was enabled since the last reset */
    /* The interface that is older than the standard (1.3.1): 32 feature bits without VERSION_1, no
     * FEATURES_OK, no generation, and a queue is one piece of memory with VIRTIO_LEGACY_ALIGNMENT.
     * Its numbers have the processor's byte order: only little-endian ones are served. */
    bool legacy;
    bool queue_size_fixed; /* a queue has the size that the device says */
    /* The device uses each queue that is enabled, without being told over a control queue how many
     * (vhost-user): VIRTIO_NET_F_MQ needs none then. */
    bool enabled_queues_used;

    /* Those made of registers (transport/registers.c) keep here where these are; 0: nowhere. */
    uint8_t kind;
    virtio_register registers; /* PCI: the common configuration */
    uint32_t registers_bytes;
    virtio_register config; /* device-specific configuration */
    virtio_register cause;  /* of interrupts */
    virtio_register notify;
    uint32_t notify_bytes;
    uint32_t notify_multiplier;
};

/* One field of the device-specific configuration. */
struct virtio_config_field {
    uint16_t offset;
    uint8_t bytes;  /* 1, 2 or 4; the field is naturally aligned */
    uint32_t value; /* read */
};

/* The first steps of 3.1.1: reset, ACKNOWLEDGE, DRIVER. False: the reset did not complete. */
bool virtio_transport_begin(struct virtio_transport *transport, const char **reason);

/* Sets one status bit and clears none (2.1.1). */
void virtio_transport_add_status(struct virtio_transport *transport, uint8_t bit);

/*
 * Accepts what is both offered and in `wanted`, writes it, sets FEATURES_OK and reads it back.
 * VERSION_1 is always wanted, and required, except of a legacy device, which knows no FEATURES_OK
 * either. The result is in *features. False: *reason says why not.
 */
bool virtio_transport_negotiate(struct virtio_transport *transport, uint64_t wanted,
                                uint64_t *features, const char **reason);

/*
 * Resets the device and waits, at most a second, until it confirms that it let go of every queue:
 * only then may memory shared with it be taken back (2.4.1). False: it did not, and memory must
 * stay as it is.
 */
bool virtio_transport_reset(struct virtio_transport *transport);

/*
 * The same for one queue, if VIRTIO_F_RING_RESET was negotiated (2.6.1): it can be enabled again
 * afterwards. False also if the device, whatever it offered, has no such register (QEMU's MMIO).
 */
bool virtio_transport_reset_queue(struct virtio_transport *transport, uint16_t index);

/*
 * Reads fields that belong together: again until the generation did not change meanwhile (2.5.1),
 * of a legacy device until they are the same twice (2.5.3), a bounded number of times. False: it
 * kept changing, or a field is outside the configuration; the values are then not to be used.
 */
bool virtio_transport_read_config(struct virtio_transport *transport,
                                  struct virtio_config_field *fields, unsigned count);

#endif
