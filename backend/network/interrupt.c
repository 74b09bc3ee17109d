/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A round publishes the chains that it has finished, and interrupts the client if its driver wants
 * that.
 *
 * A driver that polls, such as Linux' with napi_defer_hard_irqs, asks for interrupts for a moment
 * at the end of each turn, while it passes the received frames on. An interrupt in this moment is
 * of no use, and costs exits of both sides. So if the driver has wanted none for a while, the first
 * one is delayed, and sent if the driver still wants it (VIRTIO 1.3, 2.7.10). A driver that waits
 * for interrupts wants one for each round, and none of them is delayed.
 */
#include "network_private.h"

/* A number that grows by one for each round without a wanted interrupt, and is halved by each
 * interrupt: so many say that the driver polls. */
#define UNWANTED_MIN 8u
#define UNWANTED_MAX 32u
/* Without a frame for so long, a driver that polls may have ceased to. */
#define STREAM_PAUSE UINT64_C(5000000)
/* Longer than a turn of the driver, and less than what a person or a TCP connection notices. */
#define DELAY UINT64_C(200000)

static struct device_queue *queue_at(struct network_client *client, unsigned number)
{
    struct device_queue *const queues[DEVICE_NET_QUEUES] = {
        [DEVICE_NET_RECEIVE] = &client->net.receive,
        [DEVICE_NET_TRANSMIT] = &client->net.transmit,
        [DEVICE_NET_CONTROL] = &client->net.control,
    };

    return queues[number];
}

static void publish(struct network_client *client, unsigned number)
{
    struct device_queue *queue = queue_at(client, number);
    struct network_interrupt *interrupt = &client->interrupt;

    if (!interrupt->is_delayed) {
        interrupt->since[number] = queue->published;
    }
    interrupt->has_published = interrupt->has_published || queue->finished != queue->published;
    interrupt->is_owed = device_queue_publish(queue) || interrupt->is_owed;
}

void interrupt_publish_received(struct network_client *client)
{
    publish(client, DEVICE_NET_RECEIVE);
    /* The back-end never waits for receive buffers, so it asks for no notification of them. With
     * EVENT_IDX a driver notifies again after 65,536 buffers: each round asks anew. */
    device_queue_suppress(&client->net.receive);
}

void interrupt_publish_sent(struct network_client *client)
{
    publish(client, DEVICE_NET_TRANSMIT);
    publish(client, DEVICE_NET_CONTROL);
}

/* Returns true if the driver still wants an interrupt for what was published since the round that
 * owed it. */
static bool is_still_wanted(struct network_client *client)
{
    bool is_wanted = false;

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        is_wanted = device_queue_wants_interrupt(queue_at(client, i), client->interrupt.since[i]) ||
                    is_wanted;
    }
    return is_wanted;
}

static void send(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];

    client->statistics.interrupts++;
    network->operations->interrupt(network->context, index);
}

/* Decides on a delayed interrupt. */
static void end_delay(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];

    client->interrupt.is_delayed = false;
    if (is_still_wanted(client)) {
        client->interrupt.unwanted = 0; /* the driver has ceased to poll */
        send(network, index);
    }
}

static void begin_delay(struct network_client *client, uint64_t now)
{
    client->interrupt.is_delayed = true;
    client->interrupt.due = now + DELAY;
    client->statistics.interrupts_delayed++;
}

/* Counts a round that has published. */
static void note_round(struct network_interrupt *interrupt, uint64_t now)
{
    if (now - interrupt->published > STREAM_PAUSE) {
        interrupt->unwanted = 0;
    }
    interrupt->published = now;
    if (!interrupt->is_owed && interrupt->unwanted < UNWANTED_MAX) {
        interrupt->unwanted++;
    }
}

uint64_t interrupt_due(const struct network_client *client)
{
    return client->interrupt.is_delayed ? client->interrupt.due : UINT64_MAX;
}

void interrupt_decide(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];
    struct network_interrupt *interrupt = &client->interrupt;
    bool is_owed = interrupt->is_owed;

    if (interrupt->has_published) {
        note_round(interrupt, network->now);
    }
    interrupt->has_published = false;
    interrupt->is_owed = false;
    if (interrupt->is_delayed) {
        if (network->now >= interrupt->due) {
            end_delay(network, index);
        }
    } else if (is_owed && interrupt->unwanted >= UNWANTED_MIN) {
        begin_delay(client, network->now);
    } else if (is_owed) {
        interrupt->unwanted /= 2;
        send(network, index);
    }
}
