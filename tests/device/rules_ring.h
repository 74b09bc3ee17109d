/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the rules on rings: what rules_split.c and rules_packed.c have in common (rules_ring.c).
 * Written from the standard, not from the driver: layouts and flags are these files' own. */
#ifndef TESTS_DEVICE_RULES_RING_H
#define TESTS_DEVICE_RULES_RING_H

#include "rules.h"

/* The same bits in both formats. */
#define NEXT     1u
#define WRITE    2u
#define INDIRECT 4u

#define CHAIN_START_BYTES 12u

/* A chain as the device would gather it. */
struct chain {
    unsigned count; /* of buffers */
    unsigned writable;
    uint64_t bytes;
    uint64_t first_bytes;
    uint8_t start[CHAIN_START_BYTES]; /* as far as readable */
    bool control;                     /* of the control queue: the driver's own memory */
};

static inline bool rules_agreed(uint64_t feature)
{
    return (rules.accepted & feature) != 0;
}

/* Of this queue, with nothing in it yet. */
struct chain chain_begin(const struct rules_queue *queue);
/* The next buffer of a chain. */
void chain_add(struct chain *chain, uint64_t address, uint32_t bytes, bool writable);
/* Checks a whole chain against the rules of both ring formats and of the network device. */
void chain_check(const struct rules_queue *queue, const struct chain *chain);

/* A chain of this id, in so many descriptors, is the device's from now on; in publication order. */
void rules_give(struct rules_queue *queue, uint16_t id, uint16_t descriptors);
/* The device has returned it, and with IN_ORDER those before it (2.7.9, 2.8.8). Returns the
 * descriptors of all of them; 0: it had no such chain. */
unsigned rules_return(struct rules_queue *queue, uint16_t id);

/* Stores into a queue's memory, before the device sees them; see hooked/virtio/barrier.h. */
void split_store16(struct rules_queue *queue, const uint16_t *shared, uint16_t value);
void packed_store32(struct rules_queue *queue, const uint32_t *shared, uint32_t value);
uint64_t packed_store64(struct rules_queue *queue, const uint64_t *shared, uint64_t value);
/* Gives the chains that the device has returned back to the driver. */
void split_take_back(struct rules_queue *queue);
void packed_take_back(struct rules_queue *queue);
void split_describe(const struct rules_queue *queue);
void packed_describe(const struct rules_queue *queue);

#endif
