/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of virtqueues in memory and the arithmetic of their positions, written from the
 * standard (VIRTIO 1.3, 2.7 and 2.8) and not from the driver. The model of the device side (ring.h)
 * and the device of tests/memory_order use it; how they access memory is their own.
 *
 * A position is a number of chains (split) or descriptors (packed) since the reset.
 */
#ifndef TESTS_HARDWARE_MODELS_VIRTIO_RING_LAYOUT_H
#define TESTS_HARDWARE_MODELS_VIRTIO_RING_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of a descriptor's flags (2.7.5, 2.8.1). */
#define RING_NEXT      0x0001u
#define RING_WRITE     0x0002u
#define RING_INDIRECT  0x0004u
#define RING_AVAILABLE 0x0080u /* packed */
#define RING_USED      0x8000u /* packed */

/* A descriptor: address (64 bits), length (32), and two words of 16 bits, which are flags and next
 * in the split format (2.7.5), and id and flags in the packed format (2.8.13). */
#define RING_DESCRIPTOR_BYTES        16u
#define RING_DESCRIPTOR_LENGTH       8u
#define RING_SPLIT_DESCRIPTOR_FLAGS  12u
#define RING_SPLIT_DESCRIPTOR_NEXT   14u
#define RING_PACKED_DESCRIPTOR_ID    12u
#define RING_PACKED_DESCRIPTOR_FLAGS 14u

/* The available ring and the used ring of the split format (2.7.6, 2.7.8): flags, index, entries,
 * and the event index. */
#define RING_FLAGS_OFFSET           0u
#define RING_INDEX_OFFSET           2u
#define RING_ENTRIES_OFFSET         4u
#define RING_AVAILABLE_ENTRY_BYTES  2u
#define RING_USED_ELEMENT_BYTES     8u
#define RING_USED_ELEMENT_LENGTH    4u
#define RING_AVAILABLE_NO_INTERRUPT 0x0001u
#define RING_USED_NO_NOTIFY         0x0001u

/* The event suppression structures of the packed format (2.8.14): an event in the first 16 bits,
 * and flags behind them. */
#define RING_EVENT_FLAGS_OFFSET 2u
#define RING_EVENT_WRAP         0x8000u
#define RING_EVENT_FLAGS        0x0003u
enum { RING_EVENT_ENABLE = 0, RING_EVENT_DISABLE = 1, RING_EVENT_DESCRIPTOR = 2 };

/* Returns the offset of a position's descriptor in the table or ring. */
static inline uint64_t ring_descriptor_offset(uint64_t position, uint16_t size)
{
    return RING_DESCRIPTOR_BYTES * (position % size);
}

/* Returns the offset of a position's entry in the available ring. */
static inline uint64_t ring_available_entry_offset(uint64_t position, uint16_t size)
{
    return RING_ENTRIES_OFFSET + RING_AVAILABLE_ENTRY_BYTES * (position % size);
}

/* Returns the offset of used_event in the available ring. */
static inline uint64_t ring_used_event_offset(uint16_t size)
{
    return RING_ENTRIES_OFFSET + UINT64_C(1) * RING_AVAILABLE_ENTRY_BYTES * size;
}

/* Returns the offset of a position's element in the used ring: id and length. */
static inline uint64_t ring_used_element_offset(uint64_t position, uint16_t size)
{
    return RING_ENTRIES_OFFSET + RING_USED_ELEMENT_BYTES * (position % size);
}

/* Returns the offset of avail_event in the used ring. */
static inline uint64_t ring_available_event_offset(uint16_t size)
{
    return RING_ENTRIES_OFFSET + UINT64_C(1) * RING_USED_ELEMENT_BYTES * size;
}

/* Split, with EVENT_IDX: returns true if the event index is among the positions [before, now)
 * (2.7.10). */
static inline bool ring_passed_event(uint16_t event, uint16_t before, uint16_t now)
{
    return (uint16_t)(now - event - 1u) < (uint16_t)(now - before);
}

/* Packed: returns the wrap counter at a position, true in the first lap (2.8.1). */
static inline bool ring_wrap_at(uint64_t position, uint16_t size)
{
    return position / size % 2 == 0;
}

/* Packed: returns true if a descriptor with these flags is available at the position: AVAIL is the
 * wrap counter and USED its inverse (2.8.1). */
static inline bool ring_is_available(unsigned flags, uint64_t position, uint16_t size)
{
    bool wrap = ring_wrap_at(position, size);

    return ((flags & RING_AVAILABLE) != 0) == wrap && ((flags & RING_USED) != 0) != wrap;
}

/* Packed: returns the flags that mark the descriptor at the position as used: AVAIL and USED are
 * both the wrap counter (2.8.1). */
static inline uint16_t ring_used_flags(uint64_t position, uint16_t size)
{
    return ring_wrap_at(position, size) ? RING_AVAILABLE | RING_USED : 0;
}

/* Packed: returns the event that names the descriptor at the position (2.8.14). */
static inline uint16_t ring_event_at(uint64_t position, uint16_t size)
{
    return (uint16_t)(position % size | (ring_wrap_at(position, size) ? RING_EVENT_WRAP : 0));
}

#endif
