/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared devices that this partition serves, from its devicetree. */
#ifndef BACKEND_DEVICES_H
#define BACKEND_DEVICES_H

#include "backend/network.h"
#include "kernel/sync.h"

#define DEVICE_REGIONS_MAX 8u

struct device {
    const char *name;   /* in the devicetree, as is: */
    const char *client; /* name of the partition */
    uint32_t index;     /* for the hypervisor's calls */
    struct semaphore *wake;
    uint64_t doorbells; /* counted in interrupts */
    struct device_memory_region regions[DEVICE_REGIONS_MAX];
};

/* Finds the network devices, maps their pages and the memory of their clients, and attaches their
 * doorbells, which post `wake`. A device that can't be served is reported on the console, and left
 * out. Returns the number of the others. Thread context, once. */
unsigned devices_find(struct device devices[NETWORK_CLIENTS_MAX],
                      struct network_client_setup setups[NETWORK_CLIENTS_MAX],
                      struct semaphore *wake);

#endif
