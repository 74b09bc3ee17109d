/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of a client's device: when its driver is served. The hypervisor writes the page while
 * this code reads it, so each word is loaded once, in the order that arch/shared_device.h gives.
 */
#include "network_private.h"
#include <string.h>

/* Bits of the device status (VIRTIO 1.3, 2.1). */
#define STATUS_DRIVER_OK   4u
#define STATUS_FEATURES_OK 8u
#define STATUS_NEEDS_RESET 64u
#define STATUS_FAILED      128u

#define ALL_QUEUES ((1u << DEVICE_NET_QUEUES) - 1u)

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t load_long(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint32_t ready_queues(const struct shared_device_page *page)
{
    uint32_t ready = 0;

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        ready |= load(&page->queues[i].ready) == 1 ? 1u << i : 0;
    }
    return ready;
}

static void stop(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];

    client->statistics.bad_chains += client->net.statistics.transmit_bad;
    client->net.statistics.transmit_bad = 0; /* the next start does so, too */
    client->state = NETWORK_CLIENT_STOPPED;
    client->has_transfer = false;
    client->owes_interrupt = false;
    fair_queue_empty(&network->queue, index);
}

/* Stops the driver if a queue has changed, and says that queues before this generation are not
 * accessed any more. The device's generation is read before those of the queues, which the
 * hypervisor changes first: none of the queues that are known afterwards is older than it. */
static void follow_generation(struct network *network, unsigned index, uint32_t generation)
{
    struct network_client *client = &network->clients[index];
    uint32_t changed = 0;

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        uint32_t queue_generation = load(&client->setup.page->queues[i].generation);

        changed |= queue_generation != client->queue_generations[i] ? 1u << i : 0;
        client->queue_generations[i] = queue_generation;
    }
    if (client->is_known) {
        client->continued &= ~changed;
    }
    stop(network, index);
    client->is_known = true;
    client->generation = generation;
    network->operations->acknowledge(network->context, index, generation);
}

/* Reads the setup of a queue that is ready. Returns false if it has changed meanwhile. */
static bool read_queue(const struct network_client *client, unsigned number,
                       struct device_queue_setup *setup)
{
    const struct shared_device_queue *queue = &client->setup.page->queues[number];
    uint32_t size = load(&queue->size);

    setup->descriptors = load_long(&queue->descriptors);
    setup->driver_area = load_long(&queue->driver_area);
    setup->device_area = load_long(&queue->device_area);
    setup->size = size <= DEVICE_QUEUE_SIZE_MAX ? (uint16_t)size : UINT16_MAX;
    return load(&queue->generation) == client->queue_generations[number];
}

/* Reads what the driver has set up. Returns false if it has not started, or stops just now. */
static bool read_setup(const struct network *network, const struct network_client *client,
                       struct device_net_setup *setup, uint32_t ready)
{
    const struct network_client_setup *described = &client->setup;
    uint32_t status = load(&described->page->status);

    if ((status & (STATUS_DRIVER_OK | STATUS_FEATURES_OK)) !=
            (STATUS_DRIVER_OK | STATUS_FEATURES_OK) ||
        (status & (STATUS_NEEDS_RESET | STATUS_FAILED)) != 0) {
        return false;
    }
    *setup = (struct device_net_setup){
        .features = load_long(&described->page->accepted),
        .mtu = described->mtu,
        .status = network->is_link_up ? DEVICE_NET_LINK_UP : 0,
    };
    memcpy(setup->mac, described->mac, sizeof(setup->mac));
    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        if ((ready >> i & 1) != 0 && !read_queue(client, i, &setup->queues[i])) {
            return false;
        }
    }
    /* A reset clears `accepted` before the generation changes. */
    return load(&described->page->generation) == client->generation;
}

static void start(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];
    uint32_t ready = ready_queues(client->setup.page);
    struct device_net_setup setup;
    const char *reason;
    bool resumed;

    if (!read_setup(network, client, &setup, ready)) {
        return;
    }
    /* If one of the queues continues, all do: a driver clears a queue's memory before it enables it
     * (4.2.3.2), so that the used index of a new one is 0. */
    resumed = (client->continued & ready) != 0;
    reason = device_net_check_features(client->setup.features, setup.features);
    if (reason == NULL) {
        reason = device_net_start(&client->net, &client->setup.memory, &setup, resumed);
    }
    client->ready = ready;
    client->statistics.starts++;
    client->statistics.resumed += resumed;
    if (reason != NULL) {
        client_fail(network, index, reason);
        return;
    }
    client->state = NETWORK_CLIENT_RUNNING;
    client->continued = ALL_QUEUES;
    client->owes_interrupt = resumed; /* the earlier life may have ended before its interrupt */
    device_queue_suppress(&client->net.receive);
    device_queue_suppress(&client->net.transmit);
    device_queue_suppress(&client->net.control);
    if (!resumed) {
        frame_switch_forget(&network->bridge, port_of(index));
    }
}

void client_follow(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];
    uint32_t generation = load(&client->setup.page->generation);

    if (!client->is_known || generation != client->generation) {
        follow_generation(network, index, generation);
    }
    if (client->state == NETWORK_CLIENT_RUNNING &&
        ready_queues(client->setup.page) != client->ready) {
        stop(network, index); /* a queue is new; or one stops, and the generation follows */
    }
    if (client->state == NETWORK_CLIENT_STOPPED) {
        start(network, index);
    }
}

void client_fail(struct network *network, unsigned index, const char *reason)
{
    struct network_client *client = &network->clients[index];

    stop(network, index);
    client->state = NETWORK_CLIENT_FAILED;
    client->failure = reason;
    client->statistics.failures++;
    network->operations->fail(network->context, index, reason);
}
