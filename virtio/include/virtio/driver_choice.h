/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses between the ordinary driver of a network device (virtio/net.h) and the polled one
 * (virtio/net_polled.h), as their owner sees them fail:
 *   - the ordinary driver is replaced when it has failed `failures` times within `window`;
 *   - it is chosen again when the polled one has failed, or has worked for `retry`. Each such
 * return after `retry` doubles that time, up to a day;
 *   - after each return one failure suffices to replace the ordinary driver, until it has worked
 * for `window`. So with a device that fails both drivers, the two take turns; the owner waits
 * between its attempts. A device that is absent is no failure of a driver.
 *
 * All times are nanoseconds. The owner serialises the calls. Any context.
 */
#ifndef VIRTIO_DRIVER_CHOICE_H
#define VIRTIO_DRIVER_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define VIRTIO_FAILURES_MAX 16u

struct virtio_driver_choice {
    /* Set by the owner: */
    uint16_t failures; /* 1 to VIRTIO_FAILURES_MAX; 0: the ordinary driver is never replaced */
    uint64_t window;
    uint64_t retry; /* 0: the polled driver stays until it fails */

    /* Private; 0 at first: */
    bool polled;
    bool on_probation;                    /* one failure of the ordinary driver replaces it */
    uint16_t recorded;                    /* number of entries of `failed` that are in use */
    uint64_t failed[VIRTIO_FAILURES_MAX]; /* times of the last failures, the newest first */
    uint64_t retry_after;                 /* `retry` as doubled by returns; 0: not doubled */
};

/* Returns true if the polled driver is to be started, false if the ordinary one. */
static inline bool virtio_choice_is_polled(const struct virtio_driver_choice *choice)
{
    return choice->polled;
}

/* Records a failure at `now` of the driver that was chosen. `worked`: the time for which it had
 * worked; 0 if it could not be started. */
void virtio_choice_failed(struct virtio_driver_choice *choice, uint64_t now, uint64_t worked);

/* Returns true if the polled driver, which has worked for `worked`, is to be stopped in favour of
 * the ordinary one. virtio_choice_return() then chooses that. */
bool virtio_choice_return_due(const struct virtio_driver_choice *choice, uint64_t worked);
void virtio_choice_return(struct virtio_driver_choice *choice);

#endif
