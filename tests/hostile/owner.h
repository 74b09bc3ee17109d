/* SPDX-License-Identifier: BSD-2-Clause */
/* Internal interface of the owner: owner.c, calls.c and control.c. */
#ifndef TESTS_HOSTILE_OWNER_H
#define TESTS_HOSTILE_OWNER_H

#include "hostile.h"

struct pair {
    struct virtio_net *net;
    bool signalled;
    uint64_t sent; /* this counter and the next four count from the driver's creation */
    uint64_t fetched;
    uint64_t signals;
    uint64_t taken;
    uint64_t returned;
};

struct owner {
    struct virtio_mmio mmio;
    struct virtio_pci pci;
    struct virtio_transport *transport;
    struct pair pairs[PAIRS];
    struct pair *pair; /* the pair that calls use */
    bool interruptible;
    bool in_handler;
    bool short_buffers;
    uint16_t vectors;
    uint16_t budget;
    uint16_t target;
    uint32_t capacity;
    unsigned frames_received;
    struct frame_seen last;
};

extern struct owner owner;

/*
 * Returns a bound on the work of one call that holds for any device: for each descriptor the driver
 * may handle a chain of the greatest length, and the same again for each buffer that it may expose.
 * While it waits for a reset or an answer it may check a thousand times in a second.
 */
struct work call_limit(unsigned rounds);
extern const struct work wait_limit;

/* Calls the function for each pair. */
void owner_for_pairs(void (*call)(void));

#define CALL(name, rounds, statement) CALL_WITHIN(name, call_limit(rounds), statement)

#define CALL_WITHIN(name, limit, statement)                     \
    do {                                                        \
        struct work limit_ = limit;                             \
        struct driver_call outer_ = snare_enter(name, &limit_); \
                                                                \
        statement;                                              \
        snare_leave(&outer_);                                   \
    } while (0)

#endif
