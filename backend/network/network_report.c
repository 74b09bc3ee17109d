/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/network_report.h"

#include "backend/report_word.h"
#include "network_private.h"
#include <string.h>

static void store_counters(struct frame_counters *to, const struct frame_counters *from)
{
    report_store(&to->frames, from->frames);
    report_store(&to->bytes, from->bytes);
    for (unsigned i = 0; i < FRAME_DROP_COUNT; i++) {
        report_store(&to->drops[i], from->drops[i]);
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

    report_copy_name(record->device, sizeof(record->device), port->device);
    report_copy_name(record->client, sizeof(record->client), port->client);
    report_store(&record->state, state_of(network, client));
    report_store(&record->bad_chains,
                 client->statistics.bad_chains + client->net.statistics.transmit_bad);
    report_store(&record->bad_checksums, client->statistics.bad_checksums);
    report_store(&record->waits, network->queue.clients[index].waits);
    report_store(&record->doorbells, port->doorbells);
    report_store(&record->interrupts, client->statistics.interrupts);
    report_store(&record->starts, client->statistics.starts);
    report_store(&record->resumed, client->statistics.resumed);
    report_store(&record->failures, client->statistics.failures);
}

static void describe_card(const struct network *network, const struct network_port *port,
                          struct network_record *record)
{
    enum network_port_state link = network->is_link_up ? NETWORK_PORT_UP : NETWORK_PORT_DOWN;

    report_store(&record->state, network->card.is_open ? link : NETWORK_PORT_NO_DRIVER);
    report_store(&record->starts, port->starts);
    report_store(&record->failures, port->failures);
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
    report_store(&report->updated, now);
    report_store_count(&report->record_count, (uint64_t)network->count + 1);
}
