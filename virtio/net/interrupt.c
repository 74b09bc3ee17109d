/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event handling as in the paper (3.2): the interrupt handler moves descriptors, transmit side
 * first, and signals once; the bottom half moves the rest and enables interrupts again.
 */
#include "net_private.h"

/* The largest number of interrupts between two runs of the bottom half. After they were suppressed,
 * each queue and a change of the configuration can cause one more, and a device that reads the flag
 * late a few more. */
#define INTERRUPTS_MAX 16u
/* After so many consecutive runs of the bottom half that found INTERRUPTS_MAX interrupts and no
 * work, the device's line is stuck. */
#define STORMS_MAX 8u
/*
 * On a shared line the interrupts that this device does not claim are other devices', and are not
 * limited. But UNCLAIMED_MAX of them within UNCLAIMED_NANOSECONDS, more than 10,000 a second, leave
 * threads no time to run: a device, perhaps this one, holds the line and does not show it in its
 * interrupt status.
 */
#define UNCLAIMED_MAX         1024u
#define UNCLAIMED_NANOSECONDS UINT64_C(100000000)

/* Ends the critical section, and sends the signal that was requested in it. Returns true if there
 * was one. */
static bool unlock_and_signal(struct virtio_net *net, virtio_lock_state state)
{
    bool signal = net->signal_wanted && !net->parameters.polling; /* polling: no bottom half */

    if (signal) {
        net->signal_wanted = false;
        net->statistics.signals++;
    }
    virtio_platform_unlock(state);
    if (signal) {
        net->operations->signal(net->context);
    }
    return signal;
}

void net_unlock(struct virtio_net *net, virtio_lock_state state)
{
    struct net_device *device = net->device;

    /* A broken device is broken for all pairs. */
    if (unlock_and_signal(net, state) && net->state == NET_BROKEN) {
        for (uint16_t i = 0; i < device->pairs; i++) {
            (void)unlock_and_signal(&device->pair[i], virtio_platform_lock());
        }
    }
}

void net_reenter(struct virtio_net *net, virtio_lock_state *state)
{
    net_unlock(net, *state);
    *state = virtio_platform_lock();
}

static void suppress_interrupts(struct virtio_net *net)
{
    virtqueue_suppress(&net->receive.ring);
    virtqueue_suppress(&net->transmit.ring);
    net->bottom_half_pending = true;
}

void net_wake(struct virtio_net *net)
{
    if (!net->bottom_half_pending) {
        suppress_interrupts(net);
        net->signal_wanted = true;
    }
}

void net_kick(struct virtio_net *net, struct net_queue *queue)
{
    if (virtqueue_publish(&queue->ring)) {
        queue->notifications++;
        net->transport->operations->notify(net->transport, &queue->notification);
    }
}

void net_stop_broken(struct virtio_net *net, const char *reason)
{
    struct net_device *device = net->device;

    for (uint16_t i = 0; i < device->pairs; i++) {
        device->pair[i].state = NET_BROKEN;
        device->pair[i].signal_wanted = true;
    }
    device->broken = reason;
    net->statistics.broken++;
    virtio_platform_log("virtio-net: device stopped: %s", reason);
}

const char *net_status_failure(const struct virtio_net *net)
{
    uint8_t status = net->transport->operations->status(net->transport);

    if (status == UINT8_MAX) { /* a bus without the device; no device sets the two reserved bits */
        return "the device is gone";
    }
    if ((status & VIRTIO_STATUS_NEEDS_RESET) != 0) {
        return "the device asks for a reset";
    }
    return (status & VIRTIO_STATUS_DRIVER_OK) == 0 ? "the device was reset" : NULL;
}

static const char *broken_reason(const struct virtio_net *net)
{
    return net->receive.ring.broken != NULL ? net->receive.ring.broken : net->transmit.ring.broken;
}

void net_check_queues(struct virtio_net *net)
{
    const char *reason = broken_reason(net);

    if (reason == NULL || net->state != NET_RUNNING) {
        return;
    }
    if ((net->features & VIRTIO_F_RING_RESET) == 0) {
        net_stop_broken(net, reason);
    } else if (net->parameters.polling) {
        net_recover(net);
    } else {
        net_wake(net);
    }
}

/* Returns the receive side's half of a budget. If the budget is odd, the half is rounded up every
 * other time. */
static inline unsigned receive_share_of(struct virtio_net *net, unsigned budget)
{
    unsigned share = budget / 2u;

    if (budget % 2u != 0) {
        share += net->receive_rounded_up ? 1u : 0u;
        net->receive_rounded_up = !net->receive_rounded_up;
    }
    return share;
}

static inline unsigned serve_transmit(struct virtio_net *net, unsigned budget,
                                      virtio_lock_state *state)
{
    unsigned moved = net_transmit_service(net, budget);

    return state == NULL ? moved : moved + net_transmit_copies(net, budget - moved, state);
}

/*
 * Moves at most `budget` descriptors and returns how many. The transmit side comes first, so that
 * waiting frames are sent before received ones are handled (paper, 3.2, steps 1-4), but leaves half
 * of the budget to the receive side; if the budget is odd, the two sides get the larger half in
 * turn. Afterwards the transmit side gets the rest of the receive side's half. `state`: as in
 * net_receive_service().
 */
static unsigned serve_queues(struct virtio_net *net, unsigned budget, virtio_lock_state *state)
{
    unsigned receive_share = receive_share_of(net, budget);
    unsigned transmit_share = budget - receive_share;
    unsigned moved = serve_transmit(net, transmit_share, state);
    bool transmit_has_more = moved == transmit_share;

    if (net_allow_interrupts(net, state)) {
        net_kick(net, &net->transmit);
        moved += net_receive_service(net, budget - moved, state);
        if (net_allow_interrupts(net, state)) {
            net_kick(net, &net->receive);
        }
    }
    if (transmit_has_more && moved < budget && net_allow_interrupts(net, state)) {
        moved += serve_transmit(net, budget - moved, state);
        if (net->state == NET_RUNNING) {
            net_kick(net, &net->transmit);
        }
    }
    if (broken_reason(net) != NULL) {
        net_check_queues(net);
    }
    return moved;
}

static void count_moved(struct virtio_net *net, unsigned moved)
{
    struct virtio_net_statistics *statistics = &net->statistics;

    statistics->descriptors_moved += moved;
    if (moved > statistics->descriptors_moved_max) {
        statistics->descriptors_moved_max = moved;
    }
    if (moved == net->parameters.interrupt_budget) {
        statistics->budget_exhausted++;
    }
}

/* Reads and acknowledges the interrupt's cause. Returns true if it may be a configuration change.
 * Sets *queues if it may be used buffers. */
static bool interrupt_cause(struct virtio_net *net, bool *queues)
{
    struct virtio_transport *transport = net->transport;
    uint32_t cause;

    if (transport->vectors != 0) {
        *queues = true;
        return net->single_vector;
    }
    /* Also when the driver is stopped, because the device then lowers its line (4.1.5.3, 4.2.3.4).
     */
    cause = transport->operations->interrupt_cause(transport);
    *queues = (cause & VIRTIO_CAUSE_QUEUE) != 0;
    return (cause & VIRTIO_CAUSE_CONFIG) != 0;
}

static void handle_configuration_change(struct virtio_net *net)
{
    struct virtio_transport *transport = net->transport;
    const char *trouble;

    net->link_changed = true;
    net->signal_wanted = true;
    if (transport->vectors != 0 || net->state != NET_RUNNING) {
        return;
    }
    /* 2.1.2: a device that needs a reset may do nothing until then, not even lower its line (QEMU's
     * MMIO). virtio_net_stop() waits for the reset. */
    trouble = net_status_failure(net);
    if (trouble != NULL) {
        net_stop_broken(net, trouble);
        transport->operations->set_status(transport, 0);
    }
}

/* Returns the pair that counts this pair's interrupts: pair 0 if all pairs share an interrupt. */
static struct virtio_net *counting_pair(struct virtio_net *net)
{
    return net->device->interrupt_pairs > 1 ? &net->device->pair[0] : net;
}

/* Counts an interrupt that the device did not claim. Returns true if it is the last of
 * UNCLAIMED_MAX within UNCLAIMED_NANOSECONDS. */
static bool is_unclaimed_storm(struct virtio_net *net)
{
    if (net->interrupts_unclaimed == 0) {
        net->unclaimed_since = virtio_platform_now();
    }
    net->interrupts_unclaimed++;
    if (net->interrupts_unclaimed < UNCLAIMED_MAX) {
        return false;
    }
    net->interrupts_unclaimed = 0;
    return virtio_platform_now() - net->unclaimed_since < UNCLAIMED_NANOSECONDS;
}

/* Counts an interrupt; `claimed`: this device raised it. Returns true if the interrupt must be
 * masked until the bottom half has run. */
static bool count_interrupt(struct virtio_net *net, bool claimed)
{
    if (net->mask_requested) {
        return true;
    }
    if (claimed || !net->transport->line_shared) {
        net->interrupts_since_bottom_half++;
        net->mask_requested = net->interrupts_since_bottom_half == INTERRUPTS_MAX;
    } else {
        net->mask_requested = is_unclaimed_storm(net);
    }
    if (net->mask_requested) {
        net->signal_wanted = true;
        net->statistics.interrupts_masked++;
    }
    return net->mask_requested;
}

/* Returns the chains taken so far by the pairs that share the counting pair's interrupt. */
static uint16_t chains_taken(const struct virtio_net *counting)
{
    unsigned pairs = counting->index == 0 ? counting->device->interrupt_pairs : 1;
    uint16_t taken = 0;

    for (unsigned i = 0; i < pairs; i++) {
        taken =
            (uint16_t)(taken + counting[i].receive.ring.taken + counting[i].transmit.ring.taken);
    }
    return taken;
}

/* Stops the device if its line is stuck: it raised the line again and again without using a buffer.
 */
static void check_line(struct virtio_net *counting)
{
    uint16_t taken = chains_taken(counting);

    if (counting->interrupts_since_bottom_half == INTERRUPTS_MAX &&
        taken == counting->taken_before) {
        counting->spurious_storms++;
    } else {
        counting->spurious_storms = 0;
    }
    counting->taken_before = taken;
    if (counting->spurious_storms == STORMS_MAX && counting->state == NET_RUNNING) {
        net_stop_broken(counting, "its interrupts do not end");
    }
}

/* Restarts the count of interrupts; called when the bottom half runs. Superfluous messages (MSI-X),
 * and interrupts of other devices on a shared line, cost at most one run of the bottom half, and do
 * not stop the device. */
static void restart_interrupt_count(struct virtio_net *net)
{
    struct virtio_net *counting = counting_pair(net);

    if (net->transport->vectors == 0) {
        check_line(counting);
    }
    counting->interrupts_since_bottom_half = 0;
    counting->interrupts_unclaimed = 0;
    counting->mask_requested = false;
}

bool virtio_net_mask_requested(const struct virtio_net *net)
{
    return net->device->interrupt_pairs > 1 ? net->device->pair[0].mask_requested
                                            : net->mask_requested;
}

/* Serves a pair's queues and wakes its bottom half. Returns false if the pair has no used buffers.
 */
static bool handle_queues(struct virtio_net *net)
{
    if (net->state != NET_RUNNING ||
        (!virtqueue_pending(&net->receive.ring) && !virtqueue_pending(&net->transmit.ring))) {
        return false;
    }
    net_wake(net);
    if (!net->parameters.deferred) {
        count_moved(net, serve_queues(net, net->parameters.interrupt_budget, NULL));
    }
    return true;
}

static void record_handler_length(struct virtio_net *net, uint32_t began)
{
    uint32_t count = virtio_platform_instructions() - began;

    if (count > net->statistics.handler_instructions_max) {
        net->statistics.handler_instructions_max = count;
    }
}

bool virtio_net_interrupt(struct virtio_net *net)
{
    uint32_t began = virtio_platform_instructions();
    virtio_lock_state state = virtio_platform_lock();
    bool queues;
    bool configuration = interrupt_cause(net, &queues);
    bool mask = count_interrupt(net, queues || configuration);

    net->statistics.interrupts++;
    if (configuration) {
        handle_configuration_change(net);
    }
    if ((!queues || !handle_queues(net)) && (!configuration || net->single_vector)) {
        /* The interrupt is another device's, or for buffers that were already taken. The state of
         * interrupt suppression does not change. */
        net->statistics.interrupts_spurious++;
    }
    net_unlock(net, state);
    for (uint16_t i = 1; i < net->device->interrupt_pairs; i++) {
        state = virtio_platform_lock();
        (void)handle_queues(&net->device->pair[i]);
        net_unlock(&net->device->pair[i], state);
    }
    record_handler_length(net, began);
    return mask;
}

bool virtio_net_configuration_interrupt(struct virtio_net *net)
{
    struct virtio_net *first = &net->device->pair[0];
    uint32_t began = virtio_platform_instructions();
    virtio_lock_state state = virtio_platform_lock();
    bool mask = count_interrupt(first, true);

    handle_configuration_change(first);
    net_unlock(first, state);
    record_handler_length(first, began);
    return mask;
}

/* Enables interrupts. Returns false if the device used buffers before that took effect. */
static bool enable_interrupts(struct virtio_net *net)
{
    return virtqueue_enable(&net->receive.ring, 0) &&
           (!net_transmit_needs_interrupt(net) || net_transmit_arm(net));
}

bool virtio_net_bottom_half(struct virtio_net *net)
{
    virtio_lock_state state;
    virtio_lock_state *divided = net->parameters.deferred ? &state : NULL;
    bool more = false;

    net_recover(net);
    state = virtio_platform_lock();
    restart_interrupt_count(net);
    if (net_allow_interrupts(net, divided)) {
        unsigned budget = net->parameters.interrupt_budget;
        bool exhausted = serve_queues(net, budget, divided) == budget;
        bool news;

        (void)net_allow_interrupts(net, divided);
        news = net->transmitted_news && net->transmitted.first != NULL;
        net->transmitted_news = false;
        more = exhausted || news || broken_reason(net) != NULL || net->received.first != NULL ||
               net->fetched.first != NULL;
    }
    net->bottom_half_pending = false;
    if (net->state == NET_RUNNING && (more || !enable_interrupts(net))) {
        more = true;
        suppress_interrupts(net);
    }
    net_unlock(net, state);
    return more;
}

/* Not inline, so that the frequent case of virtio_net_poll() needs no stack. */
static __attribute__((noinline)) bool poll_ring(struct virtio_net *net)
{
    virtio_lock_state state;
    virtio_lock_state *divided = net->parameters.deferred ? &state : NULL;
    bool more;

    state = virtio_platform_lock();
    net->next_poll = net->delivered + net->exposed_target / 4u;
    if (net->state == NET_RUNNING) {
        (void)net_receive_service(net, net->parameters.interrupt_budget, divided);
        if (net_allow_interrupts(net, divided)) {
            net_kick(net, &net->receive);
            net_check_queues(net);
        }
    }
    more = net->received.first != NULL || net->fetched.first != NULL;
    net_unlock(net, state);
    return more;
}

bool virtio_net_poll(struct virtio_net *net)
{
    return (net->fetched.first != NULL && net->delivered < net->next_poll) || poll_ring(net);
}
