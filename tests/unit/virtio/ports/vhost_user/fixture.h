/* SPDX-License-Identifier: BSD-2-Clause */
/* Common parts of the tests of the driver over vhost-user, with the tests' own back-end at the
 * other end. */
#ifndef TESTS_VHOST_USER_FIXTURE_H
#define TESTS_VHOST_USER_FIXTURE_H

#include "fake_backend.h"
#include "vhost_user.h"
#include "virtio/net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BUFFERS      4u
#define BUFFER_BYTES 1536u
#define SHARED_BYTES (1u << 20)
#define WAIT_MS      5000u /* in time of the tests' clock */

#define PROTOCOL_ALL                                                              \
    (PROTOCOL_MQ | PROTOCOL_REPLY_ACK | PROTOCOL_NET_MTU | PROTOCOL_BACKEND_REQ | \
     PROTOCOL_CONFIG | PROTOCOL_RESET_DEVICE | PROTOCOL_STATUS)

#define FEATURE_MTU    (UINT64_C(1) << 3)
#define FEATURE_MAC    (UINT64_C(1) << 5)
#define FEATURE_STATUS (UINT64_C(1) << 16)
#define FEATURE_MQ     (UINT64_C(1) << 22)

/* The parts of one queue pair. */
struct lane {
    struct virtio_net_buffer buffers[BUFFERS];
    bool with_driver[BUFFERS];
    struct virtio_net_packet packet;
    uint8_t *packet_memory;
};

/* One port with one driver and one back-end. */
struct station {
    char path[64];
    struct vhost_user vhost;
    struct virtio_net *net; /* NULL if there is no driver */
    uint16_t queue_pairs;   /* pairs that the driver may use; 0: 1 */
    struct lane lanes[FAKE_PAIRS];
    struct fake_backend backend;
};

extern struct station station;

/* Opens the port and gives the back-end the properties that most tests want. Does not start it. */
void open_port(const struct vhost_user_options *options);
/* Closes the port. All buffers must have come back. */
void close_port(void);
/* Creates the driver. Returns NULL, or the reason for a failure. */
const char *create(void);
/* Stops the driver. Returns false if the back-end does not confirm that it has stopped. */
bool stop(void);
void wait_for_vector(unsigned vector);
/* Returns true if vector 0 is due. */
bool attention_wanted(void);
/* Sends a frame there and back on each pair in use. */
void exchange(uint8_t mark);
/* Runs the bottom half's check of the device; vector 0 must be due. */
void notice(void);

#endif
