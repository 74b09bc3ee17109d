/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of a client's device (arch/shared_device.h): which queues its driver has set up, and
 * when they stop. The hypervisor writes the page while this code reads it, so each word is loaded
 * once, in the order that the page's description gives.
 *
 * A back-end looks at the page in each of its rounds:
 *
 *   client_page_has_stopped()   then it stops to serve, and acknowledges page->generation
 *   client_page_has_changed()   then it stops to serve, and goes on
 *   client_page_read()          if it serves nothing: then it starts
 *
 * No function waits. The caller serialises all calls for one page. Any context.
 */
#ifndef BACKEND_CLIENT_PAGE_H
#define BACKEND_CLIENT_PAGE_H

#include "virtio/device_queue.h"
#include <arch/shared_device.h>
#include <stdbool.h>
#include <stdint.h>

struct client_page {
    const struct shared_device_page *shared;
    unsigned queues;     /* of the device */
    uint32_t generation; /* of the device, once client_page_has_stopped() was called */

    /* Private to page/. */
    bool is_known; /* the generations were read */
    uint32_t queue_generations[SHARED_DEVICE_QUEUES];
    uint32_t continued; /* a bit a queue: an earlier start may have served its generation */
    uint32_t ready;     /* a bit a queue: those of the last start */
};

/* The set-up of a driver. */
struct client_page_setup {
    uint64_t accepted; /* features */
    uint32_t ready;    /* a bit a queue */
    bool resumed;      /* an earlier start, or an earlier life of the program, has served it */
    struct device_queue_setup queues[SHARED_DEVICE_QUEUES]; /* size 0: not ready. No features */
};

/* Begins with a page, which outlives `page`, of a device with at most SHARED_DEVICE_QUEUES queues.
 */
void client_page_init(struct client_page *page, const struct shared_device_page *shared,
                      unsigned queues);

/* Returns true if the driver has stopped queues, or may have: always at the first call. The caller
 * stops to access all of them, and acknowledges page->generation. */
bool client_page_has_stopped(struct client_page *page);

/* Returns true if other queues are ready than at the start: one is new, or one stops, and the
 * generation follows. The caller stops to access all of them. */
bool client_page_has_changed(const struct client_page *page);

/* Reads what the driver has set up. Returns false if it has not started, or stops just now. */
bool client_page_read(struct client_page *page, struct client_page_setup *setup);

#endif
