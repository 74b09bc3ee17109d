/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of a network's clients and card, for tools outside of the program (kernel/report.h,
 * REPORT_NETWORK). `./bulkhead stat` and `top` read them while the program runs; their reader is
 * tools/bulkhead/inspecting/network_report.py.
 *
 * The program writes the report now and then, and waits for nobody. Each number is one store, and
 * no counter decreases while `life` is the same. A tool reads the report twice: a copy is right if
 * `life` is the same in both, and no counter has decreased. It may be of two updates, one for some
 * counters and the next one for others.
 *
 * Times are nanoseconds since boot. The caller serialises all calls. Any context.
 */
#ifndef BACKEND_NETWORK_REPORT_H
#define BACKEND_NETWORK_REPORT_H

#include "backend/network.h"
#include <stdint.h>

#define NETWORK_REPORT_VERSION    1u
#define NETWORK_REPORT_NAME_BYTES 16u

enum network_port_state {
    NETWORK_PORT_NO_DRIVER, /* the client's driver has not started; the card is closed */
    NETWORK_PORT_DOWN,
    NETWORK_PORT_UP,
    NETWORK_PORT_FAILED, /* the driver has broken a rule, and has not reset the device */
};

/* A port of the switch. The names are terminated by 0, and empty for the card. */
struct network_record {
    char device[NETWORK_REPORT_NAME_BYTES];
    char client[NETWORK_REPORT_NAME_BYTES];
    uint64_t state; /* enum network_port_state */
    struct frame_port_counters frames;
    uint64_t bad_chains;    /* that the client has sent: no frames */
    uint64_t bad_checksums; /* dropped frames: network_client_statistics */
    uint64_t waits;         /* number of times that its limit has held the client back */
    uint64_t doorbells;     /* from the client */
    uint64_t interrupts;    /* to the client */
    uint64_t starts;        /* of the client's driver; of the card's */
    uint64_t resumed;       /* of these, continued from an earlier life of this program */
    uint64_t failures;
};

struct network_report {
    uint64_t life; /* a random number, another one in each life of the program */
    uint64_t started;
    uint64_t updated;
    uint64_t record_count; /* of those that are used: the card and the clients */
    uint64_t record_bytes; /* sizeof(struct network_record) */
    struct network_record records[FRAME_SWITCH_PORTS_MAX]; /* by port */
};

/* Facts of a port that the network does not know. For the card: starts and failures alone. */
struct network_port {
    const char *device; /* names; those of a client */
    const char *client;
    uint64_t doorbells;
    uint64_t starts;
    uint64_t failures;
};

/* Begins the report of a life. */
void network_report_begin(struct network_report *report, uint64_t life, uint64_t now);

/* Writes all records. `ports`: as many as the network has, clients and card, by port. */
void network_report_update(struct network_report *report, const struct network *network,
                           const struct network_port *ports, uint64_t now);

#endif
