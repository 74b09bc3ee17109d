/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains in the client's queues. A queue that was set up outside of the client's memory gets none.
 */
#include "attacker.h"

#define DESCRIPTOR_BYTES 16u
#define NEXT             1u /* 2.7.5 */
#define WRITABLE         2u
#define INDIRECT         4u
#define TABLE_ENTRIES    256u
#define TABLES           2u

static uint16_t next_descriptor[ATTACKER_QUEUES];
static uint16_t available[ATTACKER_QUEUES]; /* the index that was written last */
static unsigned next_table;

void rings_begin(void)
{
    for (unsigned i = 0; i < ATTACKER_QUEUES; i++) {
        next_descriptor[i] = 0;
        available[i] = 0;
    }
}

static void put_descriptor(uint64_t at, const struct attacker_piece *piece, uint32_t flags,
                           uint32_t next)
{
    memory_put32(at, (uint32_t)piece->address);
    memory_put32(at + 4, (uint32_t)(piece->address >> 32));
    memory_put32(at + 8, piece->bytes);
    memory_put16(at + 12, flags | (piece->is_writable ? WRITABLE : 0));
    memory_put16(at + 14, next);
}

/* Writes descriptors into a table of `size` entries from `first` on. */
static void put_chain(uint64_t table, uint32_t size, uint32_t first,
                      const struct attacker_piece *pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t place = (first + i) % size;

        put_descriptor(table + (uint64_t)place * DESCRIPTOR_BYTES, &pieces[i],
                       i + 1 < count ? NEXT : 0, (place + 1) % size);
    }
}

/* Writes an entry of the available ring. */
static void put_head(const struct shared_device_queue *setup, uint16_t index, uint32_t head)
{
    memory_put16(setup->driver_area + 4 + 2 * (uint64_t)(index % setup->size), head);
}

void rings_add(unsigned queue, const struct attacker_piece *pieces, unsigned count,
               bool is_indirect)
{
    const struct shared_device_queue *setup = &registers_page()->queues[queue % ATTACKER_QUEUES];
    uint16_t head = next_descriptor[queue % ATTACKER_QUEUES];
    uint16_t index = available[queue % ATTACKER_QUEUES];

    if (setup->size == 0) {
        return;
    }
    if (is_indirect) {
        struct attacker_piece table = {.address = ATTACKER_START + ATTACKER_TABLES +
                                                  (uint64_t)(next_table++ % TABLES) *
                                                      TABLE_ENTRIES * DESCRIPTOR_BYTES,
                                       .bytes = count * DESCRIPTOR_BYTES};

        put_chain(table.address, TABLE_ENTRIES, 0, pieces, count);
        put_descriptor(setup->descriptors + (uint64_t)(head % setup->size) * DESCRIPTOR_BYTES,
                       &table, INDIRECT, 0);
        count = 1;
    } else {
        put_chain(setup->descriptors, setup->size, head, pieces, count);
    }
    put_head(setup, index, head % setup->size);
    next_descriptor[queue % ATTACKER_QUEUES] = (uint16_t)(head + count);
    rings_publish(queue, 1);
}

void rings_publish(unsigned queue, uint32_t count)
{
    uint16_t *index = &available[queue % ATTACKER_QUEUES];

    *index = (uint16_t)(*index + count);
    memory_put16(registers_page()->queues[queue % ATTACKER_QUEUES].driver_area + 2, *index);
}

void rings_poke(unsigned queue, uint32_t where, uint32_t value)
{
    const struct shared_device_queue *setup = &registers_page()->queues[queue % ATTACKER_QUEUES];
    uint64_t offset = (uint64_t)(where / 4) * 2;

    switch (where % 4) {
    case 0:
        memory_put16(setup->descriptors + offset, value);
        break;
    case 1:
        memory_put16(setup->driver_area + offset, value);
        break;
    case 2:
        memory_put16(setup->device_area + offset, value);
        break;
    default:
        memory_put16(ATTACKER_START + ATTACKER_TABLES + offset, value);
    }
}

/* Returns an address: of a buffer, near the end of a window, or anywhere. */
static uint64_t any_address(uint8_t b, uint8_t c)
{
    switch (b % 8) {
    case 0:
        return ATTACKER_START + ATTACKER_WINDOW_BYTES - c;
    case 1:
        return ATTACKER_START + ATTACKER_BYTES - c;
    case 2:
        return ATTACKER_START - c;
    case 3:
        return (uint64_t)attacker_value(b, c) << (c % 33u);
    case 4:
        return UINT64_MAX - c;
    default:
        return ATTACKER_START + ATTACKER_BUFFERS + (uint64_t)(b / 8u) * 1024u + c;
    }
}

void rings_describe(unsigned queue, uint8_t a, uint8_t b, uint8_t c)
{
    const struct shared_device_queue *setup = &registers_page()->queues[queue % ATTACKER_QUEUES];
    struct attacker_piece piece = {any_address(b, c), attacker_value(c, (uint8_t)(a * 37u)), false};
    uint32_t place, next;

    if (setup->size == 0) {
        return;
    }
    place = a % setup->size;
    next = (b & 0x80u) != 0 ? place : a * 7u % 64u; /* a circle, or any */
    if (c % 2u != 0) {                              /* it is the first of a chain */
        put_head(setup, available[queue % ATTACKER_QUEUES], place);
        rings_publish(queue, 1);
    }
    if ((a & 0x40) != 0) {
        piece.address = ATTACKER_START + ATTACKER_TABLES;
        piece.bytes = c % 4u == 0 ? c : c / 4u * DESCRIPTOR_BYTES;
    }
    put_descriptor(setup->descriptors + (uint64_t)place * DESCRIPTOR_BYTES, &piece, b / 16u % 8u,
                   next);
}
