/* SPDX-License-Identifier: BSD-2-Clause */
/* The rounds of the back-end of network devices. */
#include "network_private.h"
#include <string.h>

/* Descriptors that cost nothing: a frame of Linux has 19 at most. Each of more costs as many bytes
 * as it has. */
#define DESCRIPTORS_FREE 20u
#define DESCRIPTOR_COST  16u

_Static_assert(DEVICE_NET_BAD_CHAINS_MAX *DEVICE_QUEUE_SIZE_MAX *DESCRIPTOR_COST <=
                   NETWORK_FRAME_BYTES_MAX,
               "the queue charges no more at a time");

static const char *const switch_errors[] = {
    [FRAME_SWITCH_OK] = NULL,
    [FRAME_SWITCH_CLIENTS_OUT_OF_RANGE] = "too many clients",
    [FRAME_SWITCH_BAD_ADDRESS] = "a client's address is that of no station",
    [FRAME_SWITCH_SAME_ADDRESS] = "two clients have the same address in a VLAN",
    [FRAME_SWITCH_BAD_VLAN] = "a client's VLAN is not 1 to 4094",
};

static const char *const queue_errors[] = {
    [FAIR_QUEUE_OK] = NULL,
    [FAIR_QUEUE_CLIENTS_OUT_OF_RANGE] = "too many clients",
    [FAIR_QUEUE_FRAME_OUT_OF_RANGE] = "the largest frame is out of range",
    [FAIR_QUEUE_WEIGHT_OUT_OF_RANGE] = "a client's weight is out of range",
    [FAIR_QUEUE_RATE_OUT_OF_RANGE] = "a client's rate is out of range",
    [FAIR_QUEUE_BURST_OUT_OF_RANGE] = "a client's burst is less than the largest frame",
};

const char *network_init(struct network *network, struct network_client *clients,
                         const struct network_client_setup *setups, unsigned count,
                         const struct network_operations *operations, void *context,
                         uint64_t secret, uint64_t now)
{
    struct frame_switch_rules rules[NETWORK_CLIENTS_MAX];
    struct fair_share shares[NETWORK_CLIENTS_MAX];
    const char *reason;

    if (count > NETWORK_CLIENTS_MAX) {
        return switch_errors[FRAME_SWITCH_CLIENTS_OUT_OF_RANGE];
    }
    memset(network, 0, sizeof(*network));
    network->operations = operations;
    network->context = context;
    network->clients = clients;
    network->count = count;
    network->now = now;
    for (unsigned i = 0; i < count; i++) {
        memset(&clients[i], 0, sizeof(clients[i]));
        clients[i].setup = setups[i];
        client_page_init(&clients[i].page, setups[i].page, DEVICE_NET_QUEUES);
        rules[i] = setups[i].rules;
        shares[i] = setups[i].share;
    }
    reason = switch_errors[frame_switch_init(&network->bridge, rules, count,
                                             NETWORK_FRAME_BYTES_MAX, secret)];
    if (reason != NULL) {
        return reason;
    }
    return queue_errors[fair_queue_init(&network->queue, NETWORK_FRAME_BYTES_MAX + FRAME_TAG_BYTES,
                                        shares, count, now)];
}

void network_set_card(struct network *network, const struct network_card *card)
{
    network->card = *card;
}

static void configure(struct network *network, unsigned index)
{
    const struct network_client *client = &network->clients[index];
    uint16_t status = network->is_link_up ? DEVICE_NET_LINK_UP : 0;

    if (client->state == NETWORK_CLIENT_RUNNING) {
        status = device_net_status(&client->net);
    }
    network->operations->configure(network->context, index, status);
}

void network_set_link(struct network *network, bool is_up)
{
    network->is_link_up = is_up;
    for (unsigned i = 0; i < network->count; i++) {
        (void)device_net_set_link(&network->clients[i].net, is_up);
        configure(network, i);
    }
}

void network_begin(struct network *network, uint64_t now)
{
    network->now = now;
    frame_mirror_follow(&network->mirror, now);
    for (unsigned i = 0; i < network->count; i++) {
        struct network_client *client = &network->clients[i];

        client_follow(network, i);
        if (client->state == NETWORK_CLIENT_RUNNING) {
            if (device_net_control(&client->net)) {
                configure(network, i);
            }
            fair_queue_ready(&network->queue, i);
        }
    }
}

/* Charges the client whose turn it is for what it lets this program read beside its frames: chains
 * that are no frames are work like the smallest frames, and many descriptors are work, too. */
static void charge_chains(struct network *network, uint64_t bad, uint64_t descriptors)
{
    if (bad != 0) {
        fair_queue_charge_copies(&network->queue, (uint32_t)bad * FAIR_QUEUE_COST_MIN, 1);
    }
    if (descriptors > DESCRIPTORS_FREE) {
        fair_queue_charge_copies(&network->queue, (uint32_t)descriptors * DESCRIPTOR_COST, 1);
    }
}

/* Takes the client's next frame. Returns false if it has none. */
static bool take(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];
    const struct device_net_statistics before = client->net.statistics;

    if (client->has_transfer) {
        return true;
    }
    client->is_charged = false;
    client->has_transfer = device_net_take(&client->net, &client->chain, &client->transfer.frame);
    charge_chains(network, client->net.statistics.transmit_bad - before.transmit_bad,
                  client->net.statistics.transmit_descriptors - before.transmit_descriptors);
    if (!client->has_transfer) {
        fair_queue_empty(&network->queue, index);
    }
    return client->has_transfer;
}

static void finish(struct network_client *client)
{
    device_net_finish(&client->net);
    client->has_transfer = false;
}

/* Charges the client's frame, and begins to move it. Returns false if it has to wait for a turn, or
 * was dropped. */
static bool begin_transfer(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];
    struct device_net_frame frame = client->transfer.frame;
    unsigned ports;

    if (client->is_charged) {
        return true;
    }
    if (!fair_queue_charge(&network->queue, frame.bytes)) {
        return false;
    }
    client->is_charged = true;
    ports = transfer_begin(network, &client->transfer, port_of(index), &frame);
    if (ports == 0) {
        finish(client);
        return false;
    }
    fair_queue_charge_copies(&network->queue, frame.bytes, ports - 1);
    return true;
}

/* Serves the client whose turn it is. Returns false if the card has no room. */
static bool serve(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];
    struct network_transfer *transfer = &client->transfer;
    enum transfer_result result;

    if (!take(network, index) || !begin_transfer(network, index)) {
        return true;
    }
    result = transfer_step(network, transfer);
    network->moved += result != TRANSFER_NO_ROOM;
    if (result == TRANSFER_DONE) {
        finish(client);
    } else if (result == TRANSFER_MORE && transfer->is_divided) {
        /* The next segment is work, and repeats the headers. */
        fair_queue_charge_copies(&network->queue, transfer->segmentation.headers, 1);
    }
    return result != TRANSFER_NO_ROOM;
}

enum network_answer network_service(struct network *network, unsigned budget, uint64_t *time)
{
    for (; budget != 0; budget--) {
        struct fair_turn turn;

        switch (fair_queue_next(&network->queue, network->now, &turn)) {
        case FAIR_QUEUE_SERVE:
            if (!serve(network, turn.client)) {
                return NETWORK_NO_ROOM;
            }
            break;
        case FAIR_QUEUE_WAIT:
            *time = turn.time;
            return NETWORK_WAIT;
        case FAIR_QUEUE_IDLE:
        default:
            return NETWORK_IDLE;
        }
    }
    return NETWORK_MORE;
}

/* Returns why a queue can't go on, NULL if all can. */
static const char *find_broken(const struct network_client *client)
{
    const struct device_queue *const queues[DEVICE_NET_QUEUES] = {
        &client->net.receive, &client->net.transmit, &client->net.control};

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        if ((client->ready >> i & 1) != 0 && queues[i]->broken != NULL) {
            return queues[i]->broken;
        }
    }
    return NULL;
}

void network_end(struct network *network)
{
    for (unsigned i = 0; i < network->count; i++) {
        if (network->clients[i].state == NETWORK_CLIENT_RUNNING) {
            interrupt_publish_received(&network->clients[i]);
        }
    }
    for (unsigned i = 0; i < network->count; i++) {
        struct network_client *client = &network->clients[i];
        const char *reason;

        if (client->state != NETWORK_CLIENT_RUNNING) {
            continue;
        }
        interrupt_publish_sent(client);
        interrupt_decide(network, i);
        reason = find_broken(client);
        if (reason != NULL) {
            client_fail(network, i, reason);
        }
    }
}

bool network_sleep(struct network *network)
{
    bool has_work = false;

    for (unsigned i = 0; i < network->count; i++) {
        struct network_client *client = &network->clients[i];

        if (client->state == NETWORK_CLIENT_RUNNING) {
            has_work = !device_queue_enable(&client->net.control) || has_work;
            has_work = !backlog_sleep(client) || has_work;
            /* One that has frames waits for its limit, or for the card. */
            has_work = (!fair_queue_has_frames(&network->queue, i) &&
                        !device_queue_enable(&client->net.transmit)) ||
                       has_work;
        }
    }
    return !has_work;
}

uint64_t network_due(const struct network *network)
{
    uint64_t due = UINT64_MAX;

    for (unsigned i = 0; i < network->count; i++) {
        uint64_t interrupt = interrupt_due(&network->clients[i]);
        uint64_t backlog = backlog_due(&network->clients[i]);

        due = interrupt < due ? interrupt : due;
        due = backlog < due ? backlog : due;
    }
    return due;
}

void network_wake(struct network *network)
{
    for (unsigned i = 0; i < network->count; i++) {
        struct network_client *client = &network->clients[i];

        if (client->state == NETWORK_CLIENT_RUNNING) {
            device_queue_suppress(&client->net.control);
            device_queue_suppress(&client->net.transmit);
        }
    }
}
