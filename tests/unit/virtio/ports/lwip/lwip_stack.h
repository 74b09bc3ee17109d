/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP itself with the port's reception, in one thread, for unit tests. The test is the driver: it
 * hands over received frames. What lwIP sends is kept for the test to look at.
 */
#ifndef TESTS_LWIP_STACK_H
#define TESTS_LWIP_STACK_H

#include "netif_private.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_SENT_MAX 2048u

struct stack {
    struct virtio_netif interface;
    unsigned mailbox_capacity; /* of mailboxes that are made from now on */
    unsigned signals;          /* of the bottom half */
    unsigned sent;             /* frames that lwIP has sent */
    uint8_t last_sent[STACK_SENT_MAX];
    uint32_t now; /* lwIP's time in ms */
    /* NULL, or called with each frame that lwIP sends */
    void (*on_sent)(const uint8_t *frame, size_t bytes);
    void (*before_address)(void); /* NULL, or called before the interface has an address */
};

extern struct stack stack;

extern const uint8_t stack_mac[6];

/* Starts lwIP with one interface that has `blocks` receive blocks, the address 10.0.0.2/24 and the
 * link-local address of stack_mac. Call it once in a program. */
void stack_start(uint32_t blocks);

/* Takes a block and copies a frame into it. Returns the buffer as the driver would. */
struct virtio_net_buffer *stack_buffer(const uint8_t *frame, size_t bytes);

/* Hands a frame over and ends its batch. */
void stack_receive(const uint8_t *frame, size_t bytes);

#endif
