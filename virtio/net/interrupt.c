/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The paper's event handling (3.2): the interrupt handler moves descriptors, transmit side first,
 * and signals once; the bottom half does what is left and turns interrupts on again.
 */
#include "net_private.h"

/* True: there was one to pass on. */
static bool leave(struct virtio_net *net, virtio_lock_state state)
{
    bool signal = net->signal_wanted && !net->polling; /* who polls needs no waking */

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

void net_leave(struct virtio_net *net, virtio_lock_state state)
{
    struct net_device *device = net->device;

    /* That the device broke concerns the other pairs too. */
    if (leave(net, state) && net->state == NET_BROKEN) {
        for (uint16_t i = 0; i < device->pairs; i++) {
            (void)leave(&device->pair[i], net_enter());
        }
    }
}

static void suppress(struct virtio_net *net)
{
    virtqueue_suppress(&net->receive.ring);
    virtqueue_suppress(&net->transmit.ring);
    net->bottom_half_pending = true;
}

void net_wake(struct virtio_net *net)
{
    if (!net->bottom_half_pending) {
        suppress(net);
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

bool net_needs_reset(struct virtio_net *net)
{
    struct virtio_transport *transport = net->transport;

    if (net->state != NET_RUNNING ||
        (transport->operations->status(transport) & VIRTIO_STATUS_NEEDS_RESET) == 0) {
        return false;
    }
    net_stop_broken(net, "the device asks for a reset");
    return true;
}

static const char *broken_queue(const struct virtio_net *net)
{
    return net->receive.ring.broken != NULL ? net->receive.ring.broken : net->transmit.ring.broken;
}

void net_check(struct virtio_net *net)
{
    const char *reason = broken_queue(net);

    if (reason == NULL || net->state != NET_RUNNING) {
        return;
    }
    if ((net->features & VIRTIO_F_RING_RESET) == 0) {
        net_stop_broken(net, reason);
    } else if (net->polling) {
        net_recover(net);
    } else {
        net_wake(net);
    }
}

/* Transmit side first: what waits to be sent gets on its way before the rest (paper, 3.2, steps
 * 1-4). */
static unsigned service(struct virtio_net *net, unsigned budget)
{
    unsigned moved = net_transmit_service(net, budget);

    net_kick(net, &net->transmit);
    moved += net_receive_service(net, budget - moved);
    net_kick(net, &net->receive);
    net_check(net);
    return moved;
}

static bool something_used(struct virtio_net *net)
{
    return virtqueue_pending(&net->transmit.ring) || virtqueue_pending(&net->receive.ring);
}

static void count_moved(struct virtio_net *net, unsigned moved)
{
    struct virtio_net_statistics *statistics = &net->statistics;

    statistics->descriptors_moved += moved;
    if (moved > statistics->descriptors_moved_max) {
        statistics->descriptors_moved_max = moved;
    }
    if (moved == net->interrupt_budget) {
        statistics->budget_exhausted++;
    }
}

/* True: the interrupt was about the configuration. *queues: it may have been about queues. */
static bool interrupt_cause(struct virtio_net *net, bool *queues)
{
    struct virtio_transport *transport = net->transport;
    uint32_t cause;

    if (transport->vectors != 0) {
        *queues = true;
        return net->single_vector;
    }
    /* Read even when stopped: it takes the line back (4.1.5.3, 4.2.3.4). */
    cause = transport->operations->interrupt_cause(transport);
    *queues = (cause & VIRTIO_CAUSE_QUEUE) != 0;
    return (cause & VIRTIO_CAUSE_CONFIG) != 0;
}

static void configuration_changed(struct virtio_net *net)
{
    struct virtio_transport *transport = net->transport;

    net->link_changed = true;
    net->signal_wanted = true;
    /* 2.1.2: a device that gives up may do nothing more until it is reset, not even take back its
     * line (QEMU's MMIO), and would keep the bottom half from ever running. virtio_net_stop() waits
     * for the reset. */
    if (transport->vectors == 0 && net_needs_reset(net)) {
        transport->operations->set_status(transport, 0);
    }
}

/* False: there is nothing to do for this pair. */
static bool handle(struct virtio_net *net)
{
    if (net->state != NET_RUNNING || !something_used(net)) {
        return false;
    }
    net_wake(net);
    count_moved(net, service(net, net->interrupt_budget));
    return true;
}

void virtio_net_interrupt(struct virtio_net *net)
{
    virtio_lock_state state = net_enter();
    bool queues;
    bool configuration = interrupt_cause(net, &queues);

    net->statistics.interrupts++;
    if (configuration) {
        configuration_changed(net);
    }
    if ((!queues || !handle(net)) && (!configuration || net->single_vector)) {
        /* Nobody's, or about what was collected meanwhile; interrupts are as they were. */
        net->statistics.interrupts_spurious++;
    }
    net_leave(net, state);
    for (uint16_t i = 1; i < net->device->interrupt_pairs; i++) {
        state = net_enter();
        (void)handle(&net->device->pair[i]);
        net_leave(&net->device->pair[i], state);
    }
}

void virtio_net_configuration_interrupt(struct virtio_net *net)
{
    struct virtio_net *first = &net->device->pair[0];
    virtio_lock_state state = net_enter();

    configuration_changed(first);
    net_leave(first, state);
}

/* Turns interrupts on. False: something was finished before that took effect. */
static bool enable(struct virtio_net *net)
{
    return virtqueue_enable(&net->receive.ring, 0) &&
           (!net_transmit_needs_interrupt(net) || net_transmit_arm(net));
}

bool virtio_net_bottom_half(struct virtio_net *net)
{
    virtio_lock_state state;
    bool more = false;

    net_recover(net);
    state = net_enter();
    if (net->state == NET_RUNNING) {
        bool exhausted = service(net, net->interrupt_budget) == net->interrupt_budget;
        bool news = net->transmitted_news && net->transmitted.first != NULL;

        net->transmitted_news = false;
        more = exhausted || news || broken_queue(net) != NULL || net->received.first != NULL ||
               net->fetched.first != NULL;
    }
    net->bottom_half_pending = false;
    if (net->state == NET_RUNNING && (more || !enable(net))) {
        more = true;
        suppress(net);
    }
    net_leave(net, state);
    return more;
}

bool virtio_net_poll(struct virtio_net *net)
{
    virtio_lock_state state = net_enter();
    bool more;

    if (net->state == NET_RUNNING) {
        (void)net_receive_service(net, net->interrupt_budget);
        net_kick(net, &net->receive);
        net_check(net);
    }
    more = net->received.first != NULL || net->fetched.first != NULL;
    net_leave(net, state);
    return more;
}
