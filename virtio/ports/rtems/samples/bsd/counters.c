/* SPDX-License-Identifier: BSD-2-Clause */
/* See counters.h. */
#include "counters.h"
#include <inttypes.h>

#define COUNTER(name) {#name, offsetof(struct virtio_net_statistics, name)}

static const struct {
    const char *name;
    size_t offset;
} counters[] = {
    COUNTER(rx_frames),
    COUNTER(rx_bytes),
    COUNTER(rx_exposed),
    COUNTER(rx_target),
    COUNTER(rx_target_changes),
    COUNTER(rx_dry),
    COUNTER(rx_queued),
    COUNTER(rx_buffers_taken),
    COUNTER(rx_buffers_returned),
    COUNTER(rx_refill_failures),
    COUNTER(rx_bad),
    COUNTER(tx_frames),
    COUNTER(tx_bytes),
    COUNTER(tx_in_flight),
    COUNTER(tx_queued),
    COUNTER(tx_finished),
    COUNTER(tx_refused),
    COUNTER(tx_accepted),
    COUNTER(tx_returned),
    COUNTER(interrupts),
    COUNTER(interrupts_spurious),
    COUNTER(signals),
    COUNTER(notifications_rx),
    COUNTER(notifications_tx),
    COUNTER(descriptors_moved),
    COUNTER(descriptors_moved_max),
    COUNTER(budget_exhausted),
    COUNTER(interrupts_masked),
    COUNTER(queue_resets),
    COUNTER(broken),
};

void counters_print(const struct virtio_net_statistics *statistics, FILE *stream)
{
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        const uint64_t *value = (const void *)((const char *)statistics + counters[i].offset);

        (void)fprintf(stream, "%s %" PRIu64 "\n", counters[i].name, *value);
    }
}
