/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A vhost-user back-end in a thread of the test, written from the protocol's text: a network device
 * that sends each frame back. On request it goes wrong once, at the n-th message it gets. A
 * front-end that breaks a rule of the protocol ends the test.
 */
#ifndef TESTS_VHOST_USER_FAKE_BACKEND_H
#define TESTS_VHOST_USER_FAKE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#define PROTOCOL_MQ           (UINT64_C(1) << 0)
#define PROTOCOL_REPLY_ACK    (UINT64_C(1) << 3)
#define PROTOCOL_NET_MTU      (UINT64_C(1) << 4)
#define PROTOCOL_CONFIG       (UINT64_C(1) << 9)
#define PROTOCOL_RESET_DEVICE (UINT64_C(1) << 13)
#define PROTOCOL_STATUS       (UINT64_C(1) << 16)

enum fake_fault {
    FAULT_NONE,
    FAULT_HANG_UP,       /* closes instead of answering */
    FAULT_SILENT,        /* says nothing more until the front-end leaves, then hangs up too */
    FAULT_STUBBORN,      /* says nothing more, and does not hang up either */
    FAULT_HALF,          /* hangs up in the middle of an answer */
    FAULT_GARBAGE,       /* random bytes */
    FAULT_OTHER_REQUEST, /* answers another request */
    FAULT_OTHER_VERSION, /* of the protocol */
    FAULT_NO_REPLY_FLAG, /* asks instead of answering */
    FAULT_SHORT,         /* says that its answer is shorter than it has to be */
    FAULT_LONG,          /* and longer: more than there is memory for */
    FAULT_REFUSE,        /* where the answer is only an acknowledgement */
    FAULT_COUNT
};

struct fake_backend {
    const char *path;
    bool client;                /* connects; else listens */
    bool old;                   /* knows no protocol features */
    uint64_t features;          /* of virtio, besides VERSION_1 */
    uint64_t protocol_features; /* offered */
    enum fake_fault fault;
    unsigned fault_at; /* number of the message, from 0; counts over all connections */
    /* What it saw; read after fake_backend_stop(). */
    unsigned messages;
    bool fault_happened;
    unsigned connections;
    unsigned frames;
    uint64_t driver_features;
    uint16_t mtu;
};

/* Runs until fake_backend_stop(), serving one connection after the other. One at a time. */
void fake_backend_start(struct fake_backend *backend);
void fake_backend_stop(struct fake_backend *backend);

#endif
