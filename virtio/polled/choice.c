/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio/driver_choice.h. */
#include "virtio/driver_choice.h"

#define RETRY_MAX UINT64_C(86400000000000) /* a day */

static uint64_t retry_time(const struct virtio_driver_choice *choice)
{
    return choice->retry_after != 0 ? choice->retry_after : choice->retry;
}

static void choose_ordinary(struct virtio_driver_choice *choice)
{
    choice->polled = false;
    choice->on_probation = true;
    choice->recorded = 0;
}

static void record(struct virtio_driver_choice *choice, uint64_t now)
{
    if (choice->recorded < VIRTIO_FAILURES_MAX) {
        choice->recorded++;
    }
    for (unsigned i = choice->recorded - 1u; i > 0; i--) {
        choice->failed[i] = choice->failed[i - 1];
    }
    choice->failed[0] = now;
}

/* Returns true if the last `failures` failures lie within the window that ends with the last. */
static bool has_failed_often(const struct virtio_driver_choice *choice)
{
    return choice->recorded >= choice->failures &&
           choice->failed[0] - choice->failed[choice->failures - 1] <= choice->window;
}

void virtio_choice_failed(struct virtio_driver_choice *choice, uint64_t now, uint64_t worked)
{
    if (choice->failures == 0) {
        return;
    }
    if (choice->polled) {
        choose_ordinary(choice);
        return;
    }
    record(choice, now);
    choice->on_probation = choice->on_probation && worked < choice->window;
    choice->polled = choice->on_probation || has_failed_often(choice);
}

bool virtio_choice_return_due(const struct virtio_driver_choice *choice, uint64_t worked)
{
    return choice->retry != 0 && worked >= retry_time(choice);
}

void virtio_choice_return(struct virtio_driver_choice *choice)
{
    uint64_t doubled = 2 * retry_time(choice);

    choice->retry_after = doubled < RETRY_MAX ? doubled : RETRY_MAX;
    choose_ordinary(choice);
}
