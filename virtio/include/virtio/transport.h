/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver's access to its device (VIRTIO 1.3, 4): one table of operations for each bus, chosen at
 * run time by the probe of that bus (virtio/mmio.h, virtio/pci.h), and functions that are the same
 * for all buses: device status, feature negotiation, reset, consistent configuration reads.
 *
 * Thread context and one caller at a time for all operations and functions, except for the
 * operations notify, interrupt_cause, status and set_status (any context). A transport outlives the
 * driver that uses it.
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

/* Bytes. Alignment of a legacy device's queue, and of the used ring in it (2.7.2). */
#define VIRTIO_LEGACY_ALIGNMENT 4096u

/* The largest number of queues of one device that this library supports. */
#define VIRTIO_QUEUES_MAX 64u

struct virtio_pool;
struct virtio_transport;

/* The parameters of a queue that is to be enabled. */
struct virtio_queue_setup {
    uint16_t index;  /* number of the queue in the device, < VIRTIO_QUEUES_MAX */
    uint16_t size;   /* entries, <= queue_size_max(); exactly that with queue_size_fixed */
    uint16_t vector; /* < transport->vectors, or VIRTIO_NO_VECTOR */
    virtio_address descriptors;
    virtio_address driver_area; /* available ring */
    virtio_address device_area; /* used ring */
};

/* An available buffer notification of one queue: the register (the doorbell) and the value to
 * write. Filled in by queue_enable(). */
struct virtio_notification {
    virtio_register reg;
    uint32_t value;
};

struct virtio_transport_operations {
    uint8_t (*status)(struct virtio_transport *transport);
    void (*set_status)(struct virtio_transport *transport, uint8_t status);
    uint64_t (*device_features)(struct virtio_transport *transport);
    void (*set_driver_features)(struct virtio_transport *transport, uint64_t features);

    /* Returns the configuration's generation. A legacy device has none. */
    uint32_t (*config_generation)(struct virtio_transport *transport);
    /* Reads `bytes`, 1, 2 or 4, at a naturally aligned offset inside config_bytes. */
    uint32_t (*config_read)(struct virtio_transport *transport, uint16_t offset, unsigned bytes);
    /* Sets the vector for configuration changes. Returns false if the device refuses it. */
    bool (*set_config_vector)(struct virtio_transport *transport, uint16_t vector);

    /* Returns the largest number of entries of the queue, or 0 if the device has no such queue. */
    uint16_t (*queue_size_max)(struct virtio_transport *transport, uint16_t index);
    /* Writes a queue's parameters and enables it. Returns false if that fails, with the reason in
     * *reason. */
    bool (*queue_enable)(struct virtio_transport *transport, const struct virtio_queue_setup *setup,
                         struct virtio_notification *notification, const char **reason);
    /* Returns true if the queue is disabled: after a reset, once the device has completed it. */
    bool (*queue_disabled)(struct virtio_transport *transport, uint16_t index);
    /* RING_RESET (2.6.1): writes 1 to the queue's reset register if `begin`, and returns what the
     * register reads. NULL if the transport has no such register. */
    uint32_t (*queue_reset)(struct virtio_transport *transport, uint16_t index, bool begin);
    void (*notify)(struct virtio_transport *transport,
                   const struct virtio_notification *notification);

    /*
     * Returns the VIRTIO_CAUSE_ bits that were pending, and acknowledges them. Both have taken
     * effect at the device before any later read of shared memory: see platform.h. Call it only if
     * vectors == 0, because the read has side effects on a line, and is meaningless with vectors
     * (4.1.4.5).
     */
    uint32_t (*interrupt_cause)(struct virtio_transport *transport);
};

/* The first member of every transport's structure. The probes fill it in; drivers read it. */
struct virtio_transport {
    const struct virtio_transport_operations *operations;
    uint32_t device_type;  /* VIRTIO_DEVICE_ */
    uint16_t vectors;      /* interrupt vectors (MSI-X) the driver may use; 0: one line */
    bool line_shared;      /* other devices may raise the line too (PCI) */
    bool registers_trap;   /* a hypervisor emulates each access to registers (MMIO) */
    uint32_t config_bytes; /* size of the device-specific configuration */
    uint64_t queues;       /* bit i: queue i was enabled since the last reset */
    /* The device has the interface from before the standard (1.3.1): 32 feature bits without
     * VERSION_1, no FEATURES_OK, no generation, and a queue is one piece of memory with
     * VIRTIO_LEGACY_ALIGNMENT. Its numbers have the processor's byte order, so that only
     * little-endian processors are supported. */
    bool legacy;
    bool queue_size_fixed; /* queues must have queue_size_max() entries */
    /* The device uses every enabled queue, without a command on the control queue (vhost-user), so
     * that VIRTIO_NET_F_MQ needs no control queue. */
    bool enabled_queues_used;
    /* All memory that the device can access (virtio/pool.h). NULL: it can access any memory. The
     * probes set NULL, and the port sets it after each probe. */
    struct virtio_pool *pool;

    /* State of transports made of registers (transport/registers.c). An address of 0 means that the
     * device has no such registers. */
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
    uint32_t value; /* result */
};

/* Does the first steps of 3.1.1: reset, ACKNOWLEDGE, DRIVER. Returns false if the reset did not
 * complete, with the reason in *reason. */
bool virtio_transport_begin(struct virtio_transport *transport, const char **reason);

/* Sets one status bit and keeps all others (2.1.1). */
void virtio_transport_add_status(struct virtio_transport *transport, uint8_t bit);

/*
 * Accepts the features that are both offered and in `wanted`, writes them, sets FEATURES_OK and
 * reads it back (3.1.1, steps 4 to 6). VERSION_1 is always wanted and required, except of a legacy
 * device, which has no FEATURES_OK either. *features receives the accepted features. Returns false
 * if this fails, with the reason in *reason.
 */
bool virtio_transport_negotiate(struct virtio_transport *transport, uint64_t wanted,
                                uint64_t *features, const char **reason);

/*
 * Resets the device and waits, at most a second, until it confirms that all queues are disabled.
 * Only then may the driver reuse memory shared with it (2.4.1). Returns false if the device does
 * not confirm that.
 */
bool virtio_transport_reset(struct virtio_transport *transport);

/*
 * Resets one queue and waits in the same way (2.6.1). The queue can be enabled again afterwards.
 * Requires VIRTIO_F_RING_RESET. Returns false if the device does not confirm the reset, or has no
 * reset register although it offered the feature (QEMU's MMIO).
 */
bool virtio_transport_reset_queue(struct virtio_transport *transport, uint16_t index);

/*
 * Reads `count` fields of the configuration consistently: repeats until the generation did not
 * change meanwhile (2.5.1), or, of a legacy device, until two readings are the same (2.5.3), a
 * bounded number of times. Returns false if the configuration kept changing or a field lies outside
 * it; the values are then undefined.
 */
bool virtio_transport_read_config(struct virtio_transport *transport,
                                  struct virtio_config_field *fields, unsigned count);

#endif
