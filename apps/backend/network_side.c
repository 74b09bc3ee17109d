/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared network devices: clients, a card, and the switch between them. */
#include "network_side.h"

#include "backend/network.h"
#include "card.h"
#include "deadline.h"
#include "devices.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "random_number.h"
#include "reports.h"
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <string.h>

/* Frames in a round, from the card and from clients. */
#define ROUND_FRAMES 64u

/* A client with a limit may send so much at once. */
#define BURST_MILLISECONDS 10u

#define STATUS_OFFSET 6u /* of the configuration's status field (VIRTIO 1.3, 5.1.4) */
#define STATUS_BYTES  2u

static struct {
    struct network network;
    struct network_client *clients;
    struct network_client_setup setups[NETWORK_CLIENTS_MAX];
    struct device devices[DEVICES_MAX];
    unsigned count;
    struct card card;
    struct device_segment waiting[CARD_FRAME_BUFFERS]; /* of a frame of network_deliver() */
} side;

_Static_assert(DEVICES_MAX <= NETWORK_CLIENTS_MAX, "a client for each device");

static bool has_property(int node, const char *name)
{
    unsigned bytes;

    return devicetree_property(node, name, &bytes) != NULL;
}

static const char *read_address(int node, struct network_client_setup *setup)
{
    unsigned bytes = 0;
    const uint8_t *mac = devicetree_property(node, "local-mac-address", &bytes);

    if (mac == NULL || bytes != sizeof(setup->mac)) {
        return "it has no local-mac-address";
    }
    memcpy(setup->mac, mac, sizeof(setup->mac));
    for (unsigned i = 0; i < sizeof(setup->mac); i++) {
        setup->rules.address = setup->rules.address << 8 | mac[i];
    }
    return NULL;
}

/* Reads the rules of the switch and the client's share. */
static void read_rules(int node, struct network_client_setup *setup)
{
    uint64_t burst;

    setup->rules.is_any_address = has_property(node, "bulkhead,any-address");
    if (has_property(node, "bulkhead,all-vlans")) {
        setup->rules.kind = FRAME_SWITCH_TRUNK;
    } else if (has_property(node, "bulkhead,vlan")) {
        setup->rules.kind = FRAME_SWITCH_ACCESS;
        setup->rules.vlan = (uint16_t)devicetree_number(node, "bulkhead,vlan", 0);
    }
    setup->share.weight = devicetree_number(node, "bulkhead,weight", 1);
    if (devices_numbers(node, "bulkhead,rate", &setup->share.rate, 1)) {
        burst = setup->share.rate / 1000 * BURST_MILLISECONDS;
        burst = burst < FAIR_QUEUE_FRAME_BYTES_MAX ? FAIR_QUEUE_FRAME_BYTES_MAX : burst;
        setup->share.burst = burst < INT32_MAX ? (uint32_t)burst : INT32_MAX;
    }
    setup->mtu = (uint16_t)devicetree_number(node, "bulkhead,mtu", 1500);
}

static const char *read_client(int node, unsigned number, const struct device *device)
{
    struct network_client_setup *setup = &side.setups[number];

    memset(setup, 0, sizeof(*setup));
    setup->page = device->page;
    setup->memory = device->memory;
    setup->features = device->features;
    read_rules(node, setup);
    return read_address(node, setup);
}

static void acknowledge(void *context, unsigned client, uint32_t generation)
{
    (void)context;
    device_acknowledge(&side.devices[client], generation);
}

static void interrupt(void *context, unsigned client)
{
    (void)context;
    device_interrupt(&side.devices[client]);
}

static void fail_client(void *context, unsigned client, const char *reason)
{
    (void)context;
    device_fail(&side.devices[client], reason);
}

static void configure(void *context, unsigned client, uint16_t status)
{
    (void)context;
    (void)hypervisor_call(CALL_SHARED_DEVICE_CONFIGURE, side.devices[client].index,
                          STATUS_BYTES << 16 | STATUS_OFFSET, status);
}

static bool has_room(void *context)
{
    (void)context;
    return card_has_room(&side.card, side.network.now);
}

static bool send_frame(void *context, const struct device_net_frame *frame)
{
    (void)context;
    return card_send(&side.card, frame);
}

static void describe_frame(void *context, void *token, struct device_net_frame *frame)
{
    (void)context;
    (void)card_describe(token, side.waiting, frame); /* as it was received */
}

static void release_frame(void *context, void *token)
{
    (void)context;
    card_put_buffers(&side.card, token);
}

static const struct network_operations operations = {
    .acknowledge = acknowledge,
    .interrupt = interrupt,
    .configure = configure,
    .fail = fail_client,
    .has_room = has_room,
    .send = send_frame,
    .describe = describe_frame,
    .release = release_frame,
};

static void print_clients(bool is_up)
{
    for (unsigned i = 0; i < side.count; i++) {
        const uint8_t *mac = side.setups[i].mac;

        print("backend: %s: %s, %02x:%02x:%02x:%02x:%02x:%02x, link %s\n", side.devices[i].name,
              side.devices[i].client, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
              is_up ? "up" : "down");
    }
}

/* The links of the clients follow that of the card, but not its failures: a client sees a pause
 * while the card is restarted. */
static void tend_card(uint64_t now)
{
    bool was_running = side.card.state == CARD_RUNNING;
    bool has_started = card_tend(&side.card, now);
    struct network_card abilities;
    bool is_up = true;

    if (has_started || was_running != (side.card.state == CARD_RUNNING)) {
        abilities = card_abilities(&side.card);
        network_set_card(&side.network, &abilities);
    }
    if (has_started) {
        is_up = virtio_net_link_up(side.card.net);
    } else if (!card_link_changed(&side.card, &is_up)) {
        return;
    }
    if (is_up != side.network.is_link_up) {
        network_set_link(&side.network, is_up);
        print("backend: link %s\n", is_up ? "up" : "down");
    }
}

bool network_side_round(uint64_t now, uint64_t *until)
{
    struct network *network = &side.network;
    uint64_t before = network->moved;
    uint64_t time = DEADLINE_NONE;
    uint64_t due;

    tend_card(now);
    network_begin(network, now);
    network_deliver(network, ROUND_FRAMES);
    (void)card_receive(&side.card, ROUND_FRAMES, network);
    (void)network_service(network, ROUND_FRAMES, &time);
    card_flush(&side.card); /* before a client is told that its frame was sent */
    network_end(network);
    reports_tend_network(now);
    due = deadline_earlier(card_due(&side.card), network_due(network));
    *until = deadline_earlier(time, due);
    return network->moved != before;
}

bool network_side_sleep(void)
{
    bool has_missed = devices_arm(side.devices, side.count);
    bool can_sleep = network_sleep(&side.network) && card_sleep(&side.card) && !has_missed;

    if (can_sleep) {
        reports_finish_network(time_now());
    }
    return can_sleep;
}

bool network_side_nap(void)
{
    return card_sleep(&side.card);
}

void network_side_wake(void)
{
    network_wake(&side.network);
}

/* Allocates and initialises the network. Returns NULL, or why it can't be served. */
static const char *start_network(void)
{
    size_t bytes = (side.count + 1) * sizeof(*side.clients);

    side.clients = page_allocate((bytes + PAGE_BYTES - 1) / PAGE_BYTES, PAGE_BYTES);
    if (side.clients == NULL) {
        return "too little memory";
    }
    return network_init(&side.network, side.clients, side.setups, side.count, &operations, NULL,
                        random_number(), time_now());
}

bool network_side_start(struct semaphore *wake)
{
    const char *reason;
    bool is_up = true; /* without a card, clients reach each other */

    side.count = devices_find("net", side.devices, read_client, wake);
    if (side.count == 0) {
        return false;
    }
    reason = start_network();
    if (reason != NULL) {
        print("backend: no network device is served: %s\n", reason);
        return false;
    }
    network_set_backlog(&side.network, CARD_BACKLOG_BUFFERS / side.count * CARD_RECEIVE_BYTES);
    if (card_find(&side.card, wake) && card_tend(&side.card, time_now())) {
        struct network_card abilities = card_abilities(&side.card);

        network_set_card(&side.network, &abilities);
        is_up = virtio_net_link_up(side.card.net);
    }
    network_set_link(&side.network, is_up);
    reports_begin_network(&side.network, side.devices, &side.card, random_number(), time_now());
    print_clients(is_up);
    return true;
}
