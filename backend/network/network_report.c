/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/network_report.h"

#include "network_private.h"
#include <string.h>

_Static_assert(sizeof(struct network_record) % sizeof(uint64_t) == 0,
               "a record is stored in words");

static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Stores a record word by word, so that a reader sees each counter whole. */
static void store_record(struct network_record *record, const struct network_record *from)
{
    uint64_t words[sizeof(*from) / sizeof(uint64_t)];

    memcpy(words, from, sizeof(words));
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        store((uint64_t *)(void *)record + i, words[i]);
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
    record->state = state_of(network, client);
    record->bad_chains = client->statistics.bad_chains + client->net.statistics.transmit_bad;
    record->bad_checksums = client->statistics.bad_checksums;
    record->waits = network->queue.clients[index].waits;
    record->doorbells = port->doorbells;
    record->interrupts = client->statistics.interrupts;
    record->starts = client->statistics.starts;
    record->resumed = client->statistics.resumed;
    record->failures = client->statistics.failures;
}

static void describe_card(const struct network *network, const struct network_port *port,
                          struct network_record *record)
{
    record->state = NETWORK_PORT_NO_DRIVER;
    if (network->card.is_open) {
        record->state = network->is_link_up ? NETWORK_PORT_UP : NETWORK_PORT_DOWN;
    }
    record->starts = port->starts;
    record->failures = port->failures;
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
    for (unsigned i = 0; i <= network->count; i++) {
        struct network_record record;

        memset(&record, 0, sizeof(record));
        record.frames = network->bridge.counters[i];
        if (i == FRAME_SWITCH_CARD) {
            describe_card(network, &ports[i], &record);
        } else {
            describe_client(network, i - 1, &ports[i], &record);
        }
        store_record(&report->records[i], &record);
    }
    store(&report->updated, now);
    /* A tool that reads the number reads complete records. */
    __atomic_store_n(&report->record_count, (uint64_t)network->count + 1, __ATOMIC_RELEASE);
}
