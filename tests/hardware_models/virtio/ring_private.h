/* SPDX-License-Identifier: BSD-2-Clause */
/* Common to both formats of the ring. */
#ifndef TESTS_HARDWARE_MODELS_VIRTIO_RING_PRIVATE_H
#define TESTS_HARDWARE_MODELS_VIRTIO_RING_PRIVATE_H

#include "ring.h"

/* Feature bits (6). */
#define FEATURE_INDIRECT_DESC (UINT64_C(1) << 28)
#define FEATURE_EVENT_IDX     (UINT64_C(1) << 29)
#define FEATURE_RING_PACKED   (UINT64_C(1) << 34)
#define FEATURE_IN_ORDER      (UINT64_C(1) << 35)

struct ring_format {
    bool (*take)(struct ring *ring, struct ring_chain *chain);
    unsigned (*available)(const struct ring *ring);
    void (*push)(struct ring *ring, uint32_t id, uint32_t bytes, unsigned chains,
                 unsigned descriptors);
    bool (*wants_interrupt)(struct ring *ring);
    void (*ask)(const struct ring *ring, uint64_t ahead);
    void (*ask_never)(const struct ring *ring);
};

extern const struct ring_format ring_split;
extern const struct ring_format ring_packed;

static inline bool ring_has(const struct ring *ring, uint64_t feature)
{
    return (ring->features & feature) != 0;
}

/* Calls broken() unless the rule is kept; returns whether it is. */
bool ring_rule(const struct ring *ring, bool kept, const char *rule);

/* Return false, having done nothing, if the device can't access the memory. */
bool ring_load(const struct ring *ring, uint64_t address, void *to, uint32_t bytes);
bool ring_store(const struct ring *ring, uint64_t address, const void *from, uint32_t bytes);
/* In one access. Memory that the device can't access reads as 0. */
uint16_t ring_load16(const struct ring *ring, uint64_t address);
void ring_store16(const struct ring *ring, uint64_t address, uint16_t value);

/* Orders the device's loads after an index or a flag was read, and its stores before one is
 * written. */
static inline void ring_acquire(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
static inline void ring_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Appends a descriptor's buffer to the chain. Returns false if there is no room. */
bool ring_collect(const struct ring *ring, struct ring_chain *chain, uint64_t address,
                  uint32_t bytes, unsigned flags);
/* Checks the rules for a descriptor of the ring that refers to an indirect table. */
void ring_check_indirect(const struct ring *ring, uint64_t address, uint32_t bytes);
/* Notes that the device has the chain. */
void ring_hold(struct ring *ring, const struct ring_chain *chain);

#endif
