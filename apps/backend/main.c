/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The back-end of shared network devices (backend/README.md): a partition that owns a card, and
 * serves the virtio devices of other partitions. One thread does all work. It executes rounds while
 * there is work, looks for more during a short time, and then sleeps until a doorbell or the card
 * wakes it.
 */
#include "backend/network.h"
#include "card.h"
#include "devices.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "reports.h"
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <arch/random.h>
#include <string.h>

#define PRIORITY 48u

/* Frames in a round, from the card and from clients. */
#define ROUND_FRAMES 64u

/* Microseconds for which the thread looks for work before it asks to be notified, unless the boot
 * argument `poll` says otherwise: a notification costs the client an exit. */
#define POLL_MICROSECONDS     50u
#define POLL_MICROSECONDS_MAX 1000000u

#define INTERRUPT_USED 1u /* of CALL_SHARED_DEVICE_INTERRUPT */
#define STATUS_OFFSET  6u /* of the configuration's status field (VIRTIO 1.3, 5.1.4) */
#define STATUS_BYTES   2u

static struct {
    struct network network;
    struct network_client *clients;
    struct network_client_setup setups[NETWORK_CLIENTS_MAX];
    struct device devices[NETWORK_CLIENTS_MAX];
    unsigned count;
    struct card card;
    struct semaphore wake;
} backend;

static void acknowledge(void *context, unsigned client, uint32_t generation)
{
    (void)context;
    (void)hypervisor_call(CALL_SHARED_DEVICE_ACKNOWLEDGE, backend.devices[client].index, generation,
                          0);
}

static void interrupt(void *context, unsigned client)
{
    (void)context;
    (void)hypervisor_call(CALL_SHARED_DEVICE_INTERRUPT, backend.devices[client].index,
                          INTERRUPT_USED, 0);
}

static void configure(void *context, unsigned client, uint16_t status)
{
    (void)context;
    (void)hypervisor_call(CALL_SHARED_DEVICE_CONFIGURE, backend.devices[client].index,
                          STATUS_BYTES << 16 | STATUS_OFFSET, status);
}

static void fail_device(void *context, unsigned client, const char *reason)
{
    (void)context;
    print("backend: %s: its driver is not served until it resets the device: %s\n",
          backend.devices[client].name, reason);
    (void)hypervisor_call(CALL_SHARED_DEVICE_FAIL, backend.devices[client].index, 0, 0);
}

static bool has_room(void *context)
{
    (void)context;
    return card_has_room(&backend.card, backend.network.now);
}

static bool send_frame(void *context, const struct device_net_frame *frame)
{
    (void)context;
    return card_send(&backend.card, frame);
}

static const struct network_operations operations = {
    .acknowledge = acknowledge,
    .interrupt = interrupt,
    .configure = configure,
    .fail = fail_device,
    .has_room = has_room,
    .send = send_frame,
};

static void print_clients(bool is_up)
{
    for (unsigned i = 0; i < backend.count; i++) {
        const uint8_t *mac = backend.setups[i].mac;

        print("backend: %s: %s, %02x:%02x:%02x:%02x:%02x:%02x, link %s\n", backend.devices[i].name,
              backend.devices[i].client, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
              is_up ? "up" : "down");
    }
}

/* The links of the clients follow that of the card, but not its failures: a client sees a pause
 * while the card is restarted. */
static void tend_card(uint64_t now)
{
    bool was_running = backend.card.state == CARD_RUNNING;
    bool has_started = card_tend(&backend.card, now);
    struct network_card abilities;
    bool is_up = true;

    if (has_started || was_running != (backend.card.state == CARD_RUNNING)) {
        abilities = card_abilities(&backend.card);
        network_set_card(&backend.network, &abilities);
    }
    if (has_started) {
        is_up = virtio_net_link_up(backend.card.net);
    } else if (!card_link_changed(&backend.card, &is_up)) {
        return;
    }
    if (is_up != backend.network.is_link_up) {
        network_set_link(&backend.network, is_up);
        print("backend: link %s\n", is_up ? "up" : "down");
    }
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Executes a round. Returns true if it moved a frame. *until: when there is work at the latest. */
static bool execute_round(uint64_t now, uint64_t *until)
{
    struct network *network = &backend.network;
    uint64_t before = network->moved;
    uint64_t time = DEADLINE_NONE;

    tend_card(now);
    network_begin(network, now);
    (void)card_receive(&backend.card, ROUND_FRAMES, network);
    (void)network_service(network, ROUND_FRAMES, &time);
    card_flush(&backend.card); /* before a client is told that its frame was sent */
    network_end(network);
    reports_tend(now);
    *until = earlier(time, card_due(&backend.card));
    return network->moved != before;
}

static void sleep_until_work(uint64_t until)
{
    if (network_sleep(&backend.network) && card_sleep(&backend.card)) {
        reports_finish(time_now());
        (void)semaphore_wait(&backend.wake, until);
    }
    network_wake(&backend.network);
}

static _Noreturn void serve(void)
{
    uint64_t poll = NANOSECONDS_PER_MICROSECOND *
                    boot_argument_number("poll", POLL_MICROSECONDS, 0, POLL_MICROSECONDS_MAX);
    uint64_t worked = time_now();

    for (;;) {
        uint64_t now = time_now();
        uint64_t until;

        if (execute_round(now, &until)) {
            worked = now;
        } else if (now - worked >= poll) {
            sleep_until_work(until);
        }
    }
}

/* Returns a number that clients can't guess, if the processor has such ones. */
static uint64_t secret(void)
{
    uint64_t number;

    return arch_random(&number) ? number : time_now() * UINT64_C(0x9e3779b97f4a7c15);
}

/* Allocates and initialises the network. Returns NULL, or why it can't be served. */
static const char *start_network(void)
{
    size_t bytes = (backend.count + 1) * sizeof(*backend.clients);

    backend.clients = page_allocate((bytes + PAGE_BYTES - 1) / PAGE_BYTES, PAGE_BYTES);
    if (backend.clients == NULL) {
        return "too little memory";
    }
    return network_init(&backend.network, backend.clients, backend.setups, backend.count,
                        &operations, NULL, secret(), time_now());
}

int application_main(void)
{
    const char *reason;
    bool is_up = true; /* without a card, clients reach each other */

    semaphore_init(&backend.wake, 0, 1);
    backend.count = devices_find(backend.devices, backend.setups, &backend.wake);
    if (backend.count == 0) {
        print("backend: the system file has no network device for this partition\n");
        return 1;
    }
    reason = start_network();
    if (reason != NULL) {
        print("backend: no device is served: %s\n", reason);
        return 1;
    }
    if (card_find(&backend.card, &backend.wake) && card_tend(&backend.card, time_now())) {
        struct network_card abilities = card_abilities(&backend.card);

        network_set_card(&backend.network, &abilities);
        is_up = virtio_net_link_up(backend.card.net);
    }
    network_set_link(&backend.network, is_up);
    reports_begin(&backend.network, backend.devices, &backend.card, secret(), time_now());
    print_clients(is_up);
    (void)thread_set_priority(thread_current(), PRIORITY);
    serve();
}
