/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/network_report.h"

#include "network_private.h"
#include <string.h>

/* Each number is one store, so that a tool sees it whole. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes to it */
static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void store_counters(struct frame_counters *to, const struct frame_counters *from)
{
    store(&to->frames, from->frames);
    store(&to->bytes, from->bytes);
    for (unsigned i = 0; i < FRAME_DROP_COUNT; i++) {
        store(&to->drops[i], from->drops[i]);
    }
}

static void copy_name(char to[NETWORK_REPORT_NAME_BYTES], const char *name)
{
    for (unsigned i = 0; i + 1 < NETWORK_REPORT_NAME_BYTES && name[i] != '\0'; i++) {
        to[i] = name[i];
    }
}

static enum network_port_state state_of(const struct network *network,
                                        const struct network_client *client)
{
    switch (client->state) {
    case NETWORK_CLIENT_RUNNING:
        return network->is_link_up ? NETWORK_PORT_UP : NETWORK_PORT_DOWN;
    case NETWORK_CLIENT_FAILED:
        return NETWORK_PORT_FAILED;
    case NETWORK_CLIENT_STOPPED:
    default:
        return NETWORK_PORT_NO_DRIVER;
    }
}

static void describe_client(const struct network *network, unsigned index,
                            const struct network_port *port, struct network_record *record)
{
    const struct network_client *client = &network->clients[index];

    copy_name(record->device, port->device);
    copy_name(record->client, port->client);
    store(&record->state, state_of(network, client));
    store(&record->bad_chains, client->statistics.bad_chains + client->net.statistics.transmit_bad);
    store(&record->bad_checksums, client->statistics.bad_checksums);
    store(&record->waits, network->queue.clients[index].waits);
    store(&record->doorbells, port->doorbells);
    store(&record->interrupts, client->statistics.interrupts);
    store(&record->starts, client->statistics.starts);
    store(&record->resumed, client->statistics.resumed);
    store(&record->failures, client->statistics.failures);
}

static void describe_card(const struct network *network, const struct network_port *port,
                          struct network_record *record)
{
    enum network_port_state link = network->is_link_up ? NETWORK_PORT_UP : NETWORK_PORT_DOWN;

    store(&record->state, network->card.is_open ? link : NETWORK_PORT_NO_DRIVER);
    store(&record->starts, port->starts);
    store(&record->failures, port->failures);
}

void network_report_begin(struct network_report *report, uint64_t life, uint64_t now)
{
    memset(report, 0, sizeof(*report));
    report->life = life;
    report->started = now;
    report->updated = now;
    report->record_bytes = sizeof(struct network_record);
}

void network_report_update(struct network_report *report, const struct network *network,
                           const struct network_port *ports, uint64_t now)
{
    describe_card(network, &ports[FRAME_SWITCH_CARD], &report->records[FRAME_SWITCH_CARD]);
    for (unsigned i = 0; i < network->count; i++) {
        describe_client(network, i, &ports[port_of(i)], &report->records[port_of(i)]);
    }
    for (unsigned i = 0; i <= network->count; i++) {
        store_counters(&report->records[i].frames.received, &network->bridge.counters[i].received);
        store_counters(&report->records[i].frames.sent, &network->bridge.counters[i].sent);
    }
    store(&report->updated, now);
    /* A tool that reads the number reads complete records. */
    __atomic_store_n(&report->record_count, (uint64_t)network->count + 1, __ATOMIC_RELEASE);
}
