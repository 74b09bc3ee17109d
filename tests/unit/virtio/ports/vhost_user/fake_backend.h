/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A vhost-user back-end in a thread of the test, written from the protocol's text: a network device
 * that sends each frame back on the pair it came from. On request it goes wrong once, at the n-th
 * message it gets. A front-end that breaks a rule of the protocol ends the test.
 *
 * It has a clock (fake_clock.c), which stands still for as long as the back-end has still something
 * to say or to do, however long that takes on a busy machine: who waits for a back-end that has
 * gone silent for good finds that its time is up, and nobody else does.
 */
#ifndef TESTS_VHOST_USER_FAKE_BACKEND_H
#define TESTS_VHOST_USER_FAKE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#define PROTOCOL_MQ           (UINT64_C(1) << 0)
#define PROTOCOL_REPLY_ACK    (UINT64_C(1) << 3)
#define PROTOCOL_NET_MTU      (UINT64_C(1) << 4)
#define PROTOCOL_BACKEND_REQ  (UINT64_C(1) << 5)
#define PROTOCOL_CONFIG       (UINT64_C(1) << 9)
#define PROTOCOL_RESET_DEVICE (UINT64_C(1) << 13)
#define PROTOCOL_STATUS       (UINT64_C(1) << 16)

#define FAKE_PAIRS        2u
#define FAKE_QUEUES       (2 * FAKE_PAIRS)
#define FAKE_CONFIG_BYTES 12u

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

/* In its answer to GET_CONFIG. */
enum fake_config_lie { CONFIG_HONEST, CONFIG_OTHER_OFFSET, CONFIG_OTHER_BYTES, CONFIG_ERROR };

struct fake_backend {
    const char *path;
    bool client;                /* connects; else listens */
    bool old;                   /* knows no protocol features */
    uint64_t features;          /* of virtio, besides VERSION_1 */
    uint64_t protocol_features; /* offered */
    uint64_t pairs;             /* its answer to GET_QUEUE_NUM */
    uint8_t config[FAKE_CONFIG_BYTES];
    enum fake_config_lie config_lie;
    bool takes_lock; /* the driver's, before it answers GET_STATUS: hangs if the driver has it */
    bool asks_back;  /* and waits for the answer, before it answers GET_STATUS */
    enum fake_fault fault;
    unsigned fault_at; /* number of the message, from 0; counts over all connections */
    /* Counts of what the back-end received; valid after fake_backend_stop(). */
    unsigned messages;
    unsigned heard; /* up to the last one that was answered */
    bool fault_happened;
    unsigned connections;
    unsigned frames;
    unsigned enabled; /* bit i: queue i was, and not disabled since */
    uint64_t driver_features;
    uint16_t mtu;
};

/* Runs until fake_backend_stop(), serving one connection after the other. One at a time. */
void fake_backend_start(struct fake_backend *backend);
void fake_backend_stop(struct fake_backend *backend);
/* Waits until a front-end that hangs up has been heard to the end. */
void fake_backend_wait_gone(void);

/* Return descriptors that the front-end has sent, or -1: the back-end's request channel, and the
 * error eventfd of a queue. The test uses them as a back-end does. */
int fake_backend_requests(void);
int fake_backend_error(unsigned queue);
int fake_backend_call(unsigned queue);

/* Readable while it says nothing more; and while it won't hang up either. -1: there is none. */
int fake_backend_mute(void);
int fake_backend_stuck(void);

#endif
