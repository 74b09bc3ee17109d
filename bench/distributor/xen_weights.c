/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets the weights of Xen's guests in its scheduler credit2, as `xl sched-credit2` does. It is a
 * program for Linux as dom0, with the module xen-privcmd. Its arguments are the weights of the
 * guests 0, 1, ... The interface is that of Xen 4.17, public/domctl.h; another Xen refuses it.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define DEVICE            "/dev/xen/privcmd"
#define HYPERVISOR_DOMCTL 36
#define INTERFACE_VERSION 0x15
#define SCHEDULER_OP      16
#define CREDIT2           6
#define PUT_INFO          0
#define WEIGHT_MAX        65535

struct hypercall { /* struct privcmd_hypercall of Linux */
    uint64_t number;
    uint64_t arguments[5];
};

struct domctl { /* struct xen_domctl, for SCHEDULER_OP */
    uint32_t command;
    uint32_t interface_version;
    uint16_t domain;
    uint16_t padding[3];
    uint32_t scheduler;
    uint32_t operation;
    uint16_t weight;
    uint16_t cap; /* 0: none */
    uint8_t others[116];
};

_Static_assert(sizeof(struct domctl) == 144, "Xen copies the whole structure");

/* Xen reads the structure by its virtual address. */
static bool set_weight(int device, unsigned domain, unsigned weight)
{
    struct domctl domctl = {
        .command = SCHEDULER_OP,
        .interface_version = INTERFACE_VERSION,
        .domain = (uint16_t)domain,
        .scheduler = CREDIT2,
        .operation = PUT_INFO,
        .weight = (uint16_t)weight,
    };
    struct hypercall call = {HYPERVISOR_DOMCTL, {(uintptr_t)&domctl}};

    return ioctl(device, _IOC(_IOC_NONE, 'P', 0, sizeof(call)), &call) == 0;
}

int main(int count, char **arguments)
{
    int device = open(DEVICE, O_RDWR);

    if (device < 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        perror("xen_weights: " DEVICE);
        return 1;
    }
    for (int i = 1; i < count; i++) {
        unsigned long weight = strtoul(arguments[i], NULL, 10);

        if (weight == 0 || weight > WEIGHT_MAX) {
            fprintf(stderr, "xen_weights: '%s' is no weight from 1 to 65535\n", arguments[i]);
            return 2;
        }
        if (!set_weight(device, (unsigned)i - 1, (unsigned)weight)) {
            perror("xen_weights: Xen refuses the weight");
            return 1;
        }
    }
    puts("xen_weights: set");
    return 0;
}
