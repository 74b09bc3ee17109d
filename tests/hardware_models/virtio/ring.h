/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device side of a virtqueue, split and packed, written from the standard (VIRTIO 1.3, 2.7 and
 * 2.8) and not from the driver. It reads and writes the ring in the host's byte order, which has to
 * be little-endian.
 *
 * The model's user is a test's device. It embeds a struct ring for each queue, writes the size and
 * the addresses into it as the driver gives them, and says with struct ring_memory how the device
 * reaches memory.
 *
 * A well-behaved device calls ring_take(), ring_return(), ring_wants_interrupt() and the ring_ask_
 * functions. Each of them checks the rules that the standard has for drivers and calls
 * ring_memory.broken() for a rule that is broken.
 *
 * A malicious device calls ring_push(), which writes any used element, changes the positions, or
 * writes to the fields of the ring, whose addresses are those of ring_place().
 *
 * Two device sides are separate from this one on purpose:
 * - tests/memory_order/device.c shares ring_layout.h only, because the explorer of the weak memory
 *   model has to see each access and barrier of the device as a step of its own;
 * - tests/device/rules_*.c share nothing, because they check the driver's stores beside a real
 *   device (QEMU's), and must not share an error with the device of the other tests.
 */
#ifndef TESTS_HARDWARE_MODELS_VIRTIO_RING_H
#define TESTS_HARDWARE_MODELS_VIRTIO_RING_H

#include "ring_layout.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_SIZE_MAX     32768u
#define RING_SEGMENTS_MAX 80u /* of a chain */

struct ring_memory {
    /* Returns the host's pointer to `bytes` bytes at `address`, NULL if the device can't access
     * them. */
    void *(*reach)(void *context, uint64_t address, uint32_t bytes, bool write);
    /* Copy from and to shared memory. NULL: as any other memory, with single accesses to words of
     * 16 bits. */
    void (*read)(void *to, const void *shared, size_t bytes);
    void (*write)(void *shared, const void *from, size_t bytes);
    /* Called if the driver breaks a rule; `rule` says what holds for a correct driver. If it
     * returns, the device goes on as far as it can. */
    void (*broken)(void *context, const char *rule);
    void *context;
};

struct ring_segment {
    uint64_t address;
    uint32_t bytes;
    bool writable;
};

struct ring_chain {
    struct ring_segment segment[RING_SEGMENTS_MAX];
    unsigned count;       /* of segments */
    uint32_t readable;    /* bytes */
    uint32_t writable;    /* bytes */
    uint16_t id;          /* split: the first descriptor's index; packed: the buffer id */
    uint16_t descriptors; /* in the ring */
    bool indirect;
};

struct ring {
    const struct ring_memory *memory;
    /* As the driver chose them; written by the user. */
    uint64_t features;
    uint16_t size;
    uint64_t descriptors;
    uint64_t driver_area;
    uint64_t device_area;
    /* Positions since the reset, in chains (split) or descriptors (packed). */
    uint64_t available; /* taken */
    uint64_t used;      /* published */
    uint64_t signalled; /* `used` at the last ring_wants_interrupt() */
    /* Descriptors in the ring of all chains taken; split. */
    uint64_t taken_descriptors;
    uint64_t indirect_chains;
    /* Packed: leaves WRITE out of every other used descriptor, as some devices do. */
    bool omits_write;
    uint16_t held_end;
    /* By id: the number of descriptors in the ring of a chain that the device holds, 0 if it holds
     * none. Only the first `held_end` entries may differ from 0: tests reset rings often, and the
     * array is large. */
    uint16_t held[RING_SIZE_MAX];
};

/* Clears the ring, and sets its memory operations and size. All bytes of a ring that was never
 * reset must be 0. */
void ring_reset(struct ring *ring, const struct ring_memory *memory, uint16_t size);

/* Takes the next available chain. Returns false if there is none, or none that the device can
 * use. */
bool ring_take(struct ring *ring, struct ring_chain *chain);

/* Returns the number of chains that ring_take() would find. */
unsigned ring_available(const struct ring *ring);

/* Publishes one used element for `count` chains, with the id of the last; more than one need
 * IN_ORDER (2.7.9, 2.8.8). */
void ring_return(struct ring *ring, const struct ring_chain *chains, unsigned count,
                 uint32_t bytes);

/* Publishes a used element with any id and length, and advances by `chains` entries (split) or
 * `descriptors` entries (packed). */
void ring_push(struct ring *ring, uint32_t id, uint32_t bytes, unsigned chains,
               unsigned descriptors);

/* Returns true if the driver wants an interrupt for what was published since the last call (2.7.10,
 * 2.8.10). */
bool ring_wants_interrupt(struct ring *ring);

/* Asks for a notification when the driver makes the entry available that is `ahead` entries behind
 * the last one taken; without EVENT_IDX for each. */
void ring_ask(const struct ring *ring, uint64_t ahead);

/* Asks for no notifications. */
void ring_ask_never(const struct ring *ring);

/* The ring's fields. Those of the split format, ... */
enum ring_field {
    RING_AVAILABLE_FLAGS,
    RING_AVAILABLE_INDEX,
    RING_AVAILABLE_ENTRY, /* at a position */
    RING_USED_EVENT,
    RING_USED_FLAGS,
    RING_USED_INDEX,
    RING_USED_ELEMENT, /* at a position: id and length */
    RING_AVAILABLE_EVENT,
    /* ... of both, ... */
    RING_DESCRIPTOR, /* split: by its index; packed: at a position */
    /* ... and of the packed format: offset and flags. */
    RING_DRIVER_EVENT,
    RING_DEVICE_EVENT,
};

/* Returns the address of a field, for a device that writes to it. */
uint64_t ring_place(const struct ring *ring, enum ring_field field, uint64_t position);

/* Packed: returns the wrap counter at a position, true in the first lap (2.8.1). */
bool ring_wrap(const struct ring *ring, uint64_t position);

#endif
