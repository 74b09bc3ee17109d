/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The surroundings of the lwIP interface (netif.c, filter.c) in test_netif.c: a system, an lwIP,
 * and a driver with its device. They count calls and fail at a step that the test chooses. They
 * fail the test if a command is sent, or the driver is stopped, while the network's lock is held.
 */
#ifndef TESTS_LWIP_NETIF_WORLD_H
#define TESTS_LWIP_NETIF_WORLD_H

#include "lwip/sys.h"
#include "virtio/net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <virtio/network_device.h>

#include <cmocka.h>

enum step { SEMAPHORE, BLOCKS, PACKETS, DRIVER, INTERRUPT, INTERFACE, THREAD, STEPS };

struct virtio_net {
    const struct virtio_net_operations *operations;
    void *context;
    struct virtio_net_buffer *exposed;
};

struct world {
    enum step failing; /* the step that fails; STEPS: none */
    bool keeps_memory; /* the device does not confirm a reset */
    unsigned allocations;
    unsigned drivers;
    unsigned fails;       /* so many further starts of the ordinary driver fail */
    unsigned polled_runs; /* runs of the polled driver, each of which ends at once */
    bool polled_fails;    /* it cannot be started */
    bool polled_worked;   /* a run ends because the ordinary driver is to be tried again */
    unsigned interfaces;
    unsigned timeouts;
    unsigned semaphores;
    bool connected;
    bool locked;
    bool release_set;
    bool announce;
    bool changed;
    unsigned commands;
    uint8_t groups; /* number of groups in the device's filter */
    bool promiscuous_off;
    unsigned announcements;
    const char *broken;     /* why the device is broken, or NULL */
    uint16_t mtu;           /* the MTU that the driver uses */
    uint16_t mtu_offered;   /* the device's */
    const char *mtu_unused; /* why that is not used, or NULL */
    unsigned lines;         /* number of lines printed, and the last one */
    char line[160];
    lwip_thread_fn thread;
    void *thread_argument;
    unsigned wakes;
    uint64_t now;   /* nanoseconds */
    uint64_t slept; /* milliseconds */
    jmp_buf asleep; /* the bottom half's thread returns here to sleep */
    struct virtio_net net;
};

extern struct world world;
extern struct virtio_network_device world_device;

/* Resets everything. The next start fails at this step. */
void world_begin(enum step failing, bool keeps_memory);
/* Runs the bottom half's thread until it sleeps. */
void world_run_bottom_half(void);

#endif
