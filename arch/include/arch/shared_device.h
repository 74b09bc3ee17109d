/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of a shared device: what the driver in the client has written to the registers of its
 * virtio device. The hypervisor alone writes it. The back-end, in another partition, reads it.
 *
 * The addresses and sizes are the driver's, and not checked: the back-end checks them
 * (virtio/device_queue.h). A queue whose `generation` has changed since the back-end started to
 * serve it has been stopped: the back-end may access its rings and buffers no longer, and says so
 * (CALL_SHARED_DEVICE_ACKNOWLEDGE). The driver waits for that.
 *
 * A back-end also acknowledges what it finds, in each of its lives, before it accesses any ring.
 * Until then it counts as one that serves nothing, and no driver waits for it. So it never has to
 * hurry at its start.
 */
#ifndef ARCH_SHARED_DEVICE_H
#define ARCH_SHARED_DEVICE_H

#include <stdint.h>

#define SHARED_DEVICE_QUEUES 8u

/* A queue (VIRTIO 1.3, 4.2.2). The other fields don't change while it is ready. */
struct shared_device_queue {
    uint64_t descriptors;
    uint64_t driver_area;
    uint64_t device_area;
    uint32_t size;       /* entries: a power of two while the queue is ready */
    uint32_t ready;      /* 1: the driver has enabled it. Written after all others, released */
    uint32_t generation; /* changes when the queue stops, before `ready` becomes 1 again */
    uint32_t reserved;
};

/* At the start of the page. Normal memory, write-back. All zero at boot. When the client starts
 * again, all but the generations is. */
struct shared_device_page {
    uint64_t accepted;   /* features; valid while status contains FEATURES_OK */
    uint32_t status;     /* device status (2.1) */
    uint32_t generation; /* of the device: changes with that of any queue, after it */
    struct shared_device_queue queues[SHARED_DEVICE_QUEUES];
};

#endif
