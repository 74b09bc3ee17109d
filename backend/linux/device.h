/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared device that this process serves: its PCI function, bound to uio_pci_generic
 * (arch/shared_device_function.h), and its page and windows, from a DAX device. */
#ifndef BACKEND_LINUX_DEVICE_H
#define BACKEND_LINUX_DEVICE_H

#include "backend/failure_report.h"
#include "properties.h"
#include "virtio/device_queue.h"
#include <stdbool.h>
#include <stdint.h>

struct device {
    char function[64]; /* an entry of PCI_FUNCTIONS */
    struct properties properties;
    int config;         /* files; -1: not open */
    int interrupt;      /* readable after the doorbell rang */
    bool is_armed;      /* the doorbell interrupts */
    uint64_t doorbells; /* interrupts */
    void *reports;      /* the memory properties.reports; NULL if it has none */
    struct failure_report failures;
    volatile uint32_t *registers;
    struct device_memory_region regions[PROPERTIES_WINDOWS_MAX];
};

/* Finds the network devices of this Linux, in the order of their numbers. Returns their number, at
 * most NETWORK_CLIENTS_MAX; 0 with a problem. */
unsigned devices_find(struct device devices[NETWORK_CLIENTS_MAX], char *problem);

/* Opens and maps everything, takes the device from other processes, and completes
 * device->properties.setup, which refers to `device`. Returns false with a problem: the program
 * ends, which closes the files. */
bool device_open(struct device *device, char *problem);

/* Lets the doorbell interrupt once. Look for work afterwards: an earlier ring may be lost. */
void device_arm(struct device *device);
/* Takes back that the doorbell interrupted. device->interrupt is readable. */
void device_quiet(struct device *device);

/* Writes a register of BAR 0, SHARED_DEVICE_FUNCTION_... */
void device_write(const struct device *device, uint32_t offset, uint32_t value);

#endif
