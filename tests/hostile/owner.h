/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the owner: owner.c, calls.c and control.c. */
#ifndef TESTS_HOSTILE_OWNER_H
#define TESTS_HOSTILE_OWNER_H

#include "hostile.h"

struct pair {
    struct virtio_net *net;
    bool signalled;
    uint64_t sent; /* since the driver was created, as the next four */
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
    struct pair *pair; /* that calls are about */
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
 * Bounds on the work of one call, whatever the device says: for each descriptor the driver may move
 * a chain of the greatest length, and as much again for each buffer it may expose. Who waits for a
 * reset or an answer may look for a second, a thousand times.
 */
struct work call_limit(unsigned rounds);
extern const struct work wait_limit;

/* Calls it for each pair. */
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
