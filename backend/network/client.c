/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver of a client's device: when it is served. */
#include "network_private.h"
#include <string.h>

static void stop(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];

    client->statistics.bad_chains += client->net.statistics.transmit_bad;
    client->net.statistics.transmit_bad = 0; /* the next start does so, too */
    client->state = NETWORK_CLIENT_STOPPED;
    client->has_transfer = false;
    memset(&client->interrupt, 0, sizeof(client->interrupt));
    backlog_drop(network, index);
    fair_queue_empty(&network->queue, index);
}

static struct device_net_setup describe(const struct network *network,
                                        const struct network_client *client,
                                        const struct client_page_setup *page)
{
    struct device_net_setup setup = {
        .features = page->accepted,
        .mtu = client->setup.mtu,
        .status = network->is_link_up ? DEVICE_NET_LINK_UP : 0,
    };

    memcpy(setup.mac, client->setup.mac, sizeof(setup.mac));
    memcpy(setup.queues, page->queues, sizeof(setup.queues));
    return setup;
}

static void start(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];
    struct client_page_setup page;
    struct device_net_setup setup;
    const char *reason;

    if (!client_page_read(&client->page, &page)) {
        return;
    }
    setup = describe(network, client, &page);
    reason = device_net_check_features(client->setup.features, setup.features);
    if (reason == NULL) {
        reason = device_net_start(&client->net, &client->setup.memory, &setup, page.resumed);
    }
    client->statistics.starts++;
    client->statistics.resumed += page.resumed;
    if (reason != NULL) {
        client_fail(network, index, reason);
        return;
    }
    client->state = NETWORK_CLIENT_RUNNING;
    client->ready = page.ready;
    client->interrupt.is_owed = page.resumed; /* the earlier life may have ended before its own */
    device_queue_suppress(&client->net.receive);
    device_queue_suppress(&client->net.transmit);
    device_queue_suppress(&client->net.control);
    if (!page.resumed) {
        frame_switch_forget(&network->bridge, port_of(index));
    }
}

void client_follow(struct network *network, unsigned index)
{
    struct network_client *client = &network->clients[index];

    if (client_page_has_stopped(&client->page)) {
        stop(network, index);
        network->operations->acknowledge(network->context, index, client->page.generation);
    }
    if (client->state == NETWORK_CLIENT_RUNNING && client_page_has_changed(&client->page)) {
        stop(network, index);
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
