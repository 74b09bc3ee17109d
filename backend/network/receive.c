/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames from the card. One that leaves to a single client waits if the client has too few buffers:
 * drivers that poll take their frames in batches, and TCP slows down if it loses some of them. The
 * frames stay in the card's buffers, of which each client has a share, so a client that takes none
 * harms no other. A frame that has waited for WAIT_MAX is lost, as in a network whose queues are
 * full: its sender must not hold it for much newer than it is.
 */
#include "network_private.h"

#define WAIT_MAX UINT64_C(10000000)

void network_set_backlog(struct network *network, uint32_t bytes)
{
    network->backlog_bytes = bytes;
}

/* Returns the number of the only client that a frame leaves to; false if there is no such one. */
static bool find_client(const struct network_transfer *transfer, unsigned *index)
{
    uint32_t ports = transfer->ports;

    if (ports == 0 || (ports & (ports - 1)) != 0 || ports == 1u << FRAME_SWITCH_CARD) {
        return false;
    }
    *index = (unsigned)__builtin_ctz(ports) - port_of(0);
    return true;
}

/* Lets the frame of from_card wait behind the client's others. If there is no room, it is lost. */
static enum network_reception append(struct network *network, unsigned index)
{
    struct network_backlog *backlog = &network->clients[index].backlog;
    struct network_waiting *arrival = &network->arrival;

    if (backlog->count == NETWORK_WAITING_MAX ||
        arrival->bytes > network->backlog_bytes - backlog->bytes) {
        frame_switch_count_lost(&network->bridge, port_of(index));
        return NETWORK_RECEIVED;
    }
    arrival->decision = network->from_card.decision;
    arrival->sent = network->from_card.sent;
    arrival->since = network->now;
    backlog->frames[(backlog->first + backlog->count) % NETWORK_WAITING_MAX] = *arrival;
    backlog->count++;
    backlog->bytes += arrival->bytes;
    return NETWORK_WAITS;
}

/* Lets the frame of from_card leave from one port, or lets it wait. */
static enum network_reception step(struct network *network)
{
    unsigned index;

    switch (transfer_step(network, &network->from_card)) {
    case TRANSFER_MORE:
        return NETWORK_PARTLY;
    case TRANSFER_NO_ROOM:
        return find_client(&network->from_card, &index) ? append(network, index) : NETWORK_RECEIVED;
    case TRANSFER_DONE:
    default:
        return NETWORK_RECEIVED;
    }
}

enum network_reception network_receive(struct network *network,
                                       const struct device_net_frame *frame, void *token,
                                       uint32_t bytes)
{
    struct network_transfer *transfer = &network->from_card;
    unsigned index;

    network->moved++;
    if (transfer_begin(network, transfer, FRAME_SWITCH_CARD, frame) == 0) {
        return NETWORK_RECEIVED;
    }
    if (token != NULL && network->backlog_bytes != 0 && find_client(transfer, &index)) {
        transfer->may_wait = true;
        network->arrival = (struct network_waiting){.token = token, .bytes = bytes};
        if (network->clients[index].backlog.count != 0) {
            return append(network, index);
        }
    }
    return step(network);
}

enum network_reception network_receive_more(struct network *network)
{
    network->moved++;
    return step(network);
}

/* Gives the first frame back. */
static void remove_first(struct network *network, struct network_backlog *backlog)
{
    struct network_waiting *waiting = &backlog->frames[backlog->first];

    network->operations->release(network->context, waiting->token);
    backlog->bytes -= waiting->bytes;
    backlog->first = (backlog->first + 1) % NETWORK_WAITING_MAX;
    backlog->count--;
    backlog->is_short = false;
}

static bool has_new_buffers(const struct network_client *client)
{
    return !client->backlog.is_short ||
           device_queue_available(&client->net.receive) != client->backlog.seen;
}

/* Moves the first frame, or at most `budget` of its segments. Returns how much of the budget is
 * used, and sets *is_stuck if the client has too few buffers. */
static unsigned deliver_first(struct network *network, unsigned index, unsigned budget,
                              bool *is_stuck)
{
    struct network_backlog *backlog = &network->clients[index].backlog;
    struct network_waiting *waiting = &backlog->frames[backlog->first];
    struct network_transfer *transfer = &network->from_backlog;
    enum transfer_result result = TRANSFER_MORE;
    struct device_net_frame frame;
    unsigned used = 0;

    backlog->seen = device_queue_available(&network->clients[index].net.receive);
    network->operations->describe(network->context, waiting->token, &frame);
    transfer_resume(transfer, &frame, waiting);
    for (; result == TRANSFER_MORE && used < budget; used++) {
        result = transfer_step(network, transfer);
        network->moved += result != TRANSFER_NO_ROOM;
    }
    waiting->sent = transfer->sent;
    *is_stuck = result == TRANSFER_NO_ROOM;
    backlog->is_short = *is_stuck;
    if (result == TRANSFER_DONE) {
        remove_first(network, backlog);
    }
    return used;
}

/* Drops the frames that have waited for too long. */
static void drop_late(struct network *network, unsigned index)
{
    struct network_backlog *backlog = &network->clients[index].backlog;

    while (backlog->count != 0 &&
           network->now - backlog->frames[backlog->first].since >= WAIT_MAX) {
        frame_switch_count_lost(&network->bridge, port_of(index));
        remove_first(network, backlog);
    }
}

void network_deliver(struct network *network, unsigned budget)
{
    for (unsigned i = 0; i < network->count; i++) {
        struct network_client *client = &network->clients[i];
        bool is_stuck = false;

        if (client->backlog.count == 0) {
            continue;
        }
        drop_late(network, i);
        while (client->backlog.count != 0 && budget != 0 && !is_stuck && has_new_buffers(client)) {
            budget -= deliver_first(network, i, budget, &is_stuck);
        }
    }
}

void backlog_drop(struct network *network, unsigned index)
{
    struct network_backlog *backlog = &network->clients[index].backlog;

    while (backlog->count != 0) {
        remove_first(network, backlog);
    }
}

bool backlog_sleep(struct network_client *client)
{
    return client->backlog.count == 0 ||
           (client->backlog.is_short &&
            device_queue_enable_beyond(&client->net.receive, client->backlog.seen));
}

uint64_t backlog_due(const struct network_client *client)
{
    const struct network_backlog *backlog = &client->backlog;

    return backlog->count == 0 ? UINT64_MAX : backlog->frames[backlog->first].since + WAIT_MAX;
}
