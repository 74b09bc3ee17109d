/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared devices that this partition serves, from its devicetree. */
#ifndef BACKEND_DEVICES_H
#define BACKEND_DEVICES_H

#include "backend/failure_report.h"
#include "kernel/sync.h"
#include "virtio/device_queue.h"
#include <arch/shared_device.h>
#include <stdint.h>

#define DEVICES_MAX        16u /* of a kind */
#define DEVICE_REGIONS_MAX 8u

struct device {
    const char *name;   /* in the devicetree, as is: */
    const char *client; /* name of the partition */
    uint32_t index;     /* for the hypervisor's calls */
    struct semaphore *wake;
    uint64_t doorbells; /* written in interrupts, as are the flags: */
    bool has_rung;      /* since devices_arm() */
    bool is_masked;
    uint32_t doorbell; /* number of the interrupt */
    uint64_t features; /* offered */
    const struct shared_device_page *page;
    struct failure_report failures;
    struct device_memory memory; /* of the client */
    struct device_memory_region regions[DEVICE_REGIONS_MAX];
};

/* Reads the properties that only devices of its kind have from a node. `number`: the device's place
 * among those found. Returns NULL, or a static text that says why it can't be served. */
typedef const char *(*device_reader)(int node, unsigned number, const struct device *device);

/* Finds the devices of a kind, maps their pages and the memory of their clients, and attaches their
 * doorbells, which post `wake`. A device that can't be served is reported on the console, and left
 * out. Returns the number of the others. Thread context, once a kind. */
unsigned devices_find(const char *kind, struct device devices[DEVICES_MAX], device_reader read,
                      struct semaphore *wake);

/* Reports devices of kinds that the program does not know. */
void devices_report_unknown(void);

/* Reads `count` numbers of two cells each. Returns false if the property is absent, or has another
 * size. */
bool devices_numbers(int node, const char *name, uint64_t *values, unsigned count);

/* Returns a property that is a text, NULL if it is absent, or none. */
const char *devices_text(int node, const char *name);

/* The hypervisor's calls, for a device. */
void device_acknowledge(const struct device *device, uint32_t generation);
/* Interrupts the driver because of used buffers. */
void device_interrupt(const struct device *device);
/* Reports a driver that broke a rule, unless it does so too often, and lets the device ask for a
 * reset. */
void device_fail(struct device *device, const char *reason);

/* Lets all doorbells interrupt again, before the caller sleeps. Between two calls, a doorbell
 * interrupts twice at most, so a client that rings all the time takes no time from others. Returns
 * true if a doorbell was masked: it may have rung in vain, so the caller looks for work once more.
 * Thread context. */
bool devices_arm(struct device *devices, unsigned count);

#endif
