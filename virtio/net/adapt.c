/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adapts the number of exposed receive buffers: the paper's future work (5). A small number
 * suffices while the driver keeps up, and saves memory and cache. If the driver does not run for
 * longer than the device needs to fill them, the device has no buffer left and drops frames or
 * stands still. The driver sees both cases, and adapts the number between the two bounds:
 *   - all exposed buffers were used at once: it doubles the number. The driver takes at most
 *     interrupt_budget buffers in a turn; used buffers left over count with those of the next turn;
 *   - in a period of many buffers never more than a quarter was used at once: it halves the number.
 * The number shrinks only by not replacing used buffers, so that the ring is never left empty.
 */
#include "net_private.h"

/* Buffers in a period: so many that each period contains a burst of the usual length. */
#define PERIOD_BUFFERS 4096u

/* Starts a new measuring period with this target, clamped to the configured bounds. */
static void set_target(struct virtio_net *net, unsigned target)
{
    if (target < net->parameters.rx_buffers) {
        target = net->parameters.rx_buffers;
    }
    target = net_at_most(target, net->parameters.rx_buffers_max);
    net->statistics.rx_target_changes += target != net->exposed_target;
    net->exposed_target = (uint16_t)target;
    net->used_peak = 0;
    net->period_left = PERIOD_BUFFERS;
}

void net_receive_adapt(struct virtio_net *net, unsigned moved, bool budget_used_up)
{
    unsigned target = net->exposed_target;
    bool follows = net->used_left_over != 0; /* the last turn left used buffers in the ring */
    unsigned at_once = net_at_most(net->used_left_over + moved, UINT16_MAX);

    net->used_left_over = budget_used_up ? (uint16_t)at_once : 0;
    if (moved == 0) {
        return;
    }
    if (at_once > net->used_peak) {
        net->used_peak = (uint16_t)at_once;
    }
    if (virtqueue_in_flight(&net->receive.ring) == 0 || (follows && at_once >= target)) {
        net->statistics.rx_dry++;
        net->used_left_over = 0;
        set_target(net, 2u * target);
    } else if (moved >= net->period_left) {
        set_target(net, net->used_peak <= target / 4u ? target / 2u : target);
    } else {
        net->period_left -= moved;
    }
}

void net_receive_short(struct virtio_net *net)
{
    uint16_t exposed = virtqueue_in_flight(&net->receive.ring);

    net->statistics.rx_refill_failures++;
    if (exposed >= net->parameters.rx_buffers) {
        set_target(net, exposed);
    }
}
