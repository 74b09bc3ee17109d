/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures DPDK's rte_ring with one producer and one consumer, in memory that two processes share.
 * The systems are
 * - copy: elements of the messages' size are copied into the ring and out of it;
 * - zero-copy: such elements are written and read in the ring (rte_ring_peek_zc.h);
 * - pool: the ring has pointers to buffers, and another ring returns the buffers to the sender, as
 *   rte_mempool does with rings.
 * Each of them sends and receives as many messages of a batch as there are (burst), or, with the
 * suffix -bulk, whole batches only.
 */
#include "exchange.h"
#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <rte_ring_peek_zc.h>
#include <stdio.h>
#include <string.h>

#define COPY_BYTES_MAX 64u

struct side {
    struct rte_ring *out;
    struct rte_ring *in;
    struct rte_ring *free_out; /* free buffers for `out`, filled by the peer */
    struct rte_ring *free_in;
    uint32_t stored; /* free buffers in `store` */
    void *store[BATCH_MAX];
};

ALWAYS_INLINE uint32_t copy_in(struct side *side, struct shape shape, uint64_t number, bool bulk)
{
    _Alignas(64) uint8_t messages[BATCH_MAX * COPY_BYTES_MAX];
    unsigned bytes = (unsigned)shape.bytes;

    write_contents(messages, shape, number, shape.batch);
    return bulk ? rte_ring_sp_enqueue_bulk_elem(side->out, messages, bytes, shape.batch, NULL)
                : rte_ring_sp_enqueue_burst_elem(side->out, messages, bytes, shape.batch, NULL);
}

ALWAYS_INLINE uint32_t copy_out(struct side *side, struct shape shape, uint64_t number, bool bulk)
{
    _Alignas(64) uint8_t messages[BATCH_MAX * COPY_BYTES_MAX];
    unsigned bytes = (unsigned)shape.bytes;
    uint32_t count =
        bulk ? rte_ring_sc_dequeue_bulk_elem(side->in, messages, bytes, shape.batch, NULL)
             : rte_ring_sc_dequeue_burst_elem(side->in, messages, bytes, shape.batch, NULL);

    check_contents(messages, shape, number, count);
    return count;
}

ALWAYS_INLINE uint32_t write_in_place(struct side *side, struct shape shape, uint64_t number,
                                      bool bulk)
{
    struct rte_ring_zc_data places;
    unsigned bytes = (unsigned)shape.bytes;
    uint32_t count =
        bulk ? rte_ring_enqueue_zc_bulk_elem_start(side->out, bytes, shape.batch, &places, NULL)
             : rte_ring_enqueue_zc_burst_elem_start(side->out, bytes, shape.batch, &places, NULL);

    if (count == 0) {
        return 0;
    }
    /* The places before the end of the ring, and those at its begin. */
    write_contents(places.ptr1, shape, number, places.n1);
    write_contents(places.ptr2, shape, number + places.n1, count - places.n1);
    rte_ring_enqueue_zc_elem_finish(side->out, count);
    return count;
}

ALWAYS_INLINE uint32_t read_in_place(struct side *side, struct shape shape, uint64_t number,
                                     bool bulk)
{
    struct rte_ring_zc_data places;
    unsigned bytes = (unsigned)shape.bytes;
    uint32_t count =
        bulk ? rte_ring_dequeue_zc_bulk_elem_start(side->in, bytes, shape.batch, &places, NULL)
             : rte_ring_dequeue_zc_burst_elem_start(side->in, bytes, shape.batch, &places, NULL);

    if (count == 0) {
        return 0;
    }
    check_contents(places.ptr1, shape, number, places.n1);
    check_contents(places.ptr2, shape, number + places.n1, count - places.n1);
    rte_ring_dequeue_zc_elem_finish(side->in, count);
    return count;
}

ALWAYS_INLINE uint32_t write_buffers(struct side *side, struct shape shape, uint64_t number,
                                     bool bulk)
{
    uint32_t count;

    side->stored += rte_ring_sc_dequeue_burst(side->free_out, side->store + side->stored,
                                              shape.batch - side->stored, NULL);
    if (bulk && side->stored < shape.batch) {
        return 0;
    }
    for (uint32_t i = 0; i < side->stored; i++) {
        write_content(side->store[i], shape, number + i);
    }
    /* There are as many buffers as the ring has room for. */
    count = rte_ring_sp_enqueue_burst(side->out, side->store, side->stored, NULL);
    side->stored = 0;
    return count;
}

ALWAYS_INLINE uint32_t read_buffers(struct side *side, struct shape shape, uint64_t number,
                                    bool bulk)
{
    void *buffers[BATCH_MAX];
    uint32_t count = bulk ? rte_ring_sc_dequeue_bulk(side->in, buffers, shape.batch, NULL)
                          : rte_ring_sc_dequeue_burst(side->in, buffers, shape.batch, NULL);

    for (uint32_t i = 0; i < count; i++) {
        check_content(buffers[i], shape, number + i);
    }
    if (count != 0) {
        (void)rte_ring_sp_enqueue_burst(side->free_in, buffers, count, NULL);
    }
    return count;
}

#define SYSTEM(name, send, receive, is_bulk)                                               \
    ALWAYS_INLINE uint32_t name##_send(void *side, struct shape shape, uint64_t number)    \
    {                                                                                      \
        return send(side, shape, number, is_bulk);                                         \
    }                                                                                      \
    ALWAYS_INLINE uint32_t name##_receive(void *side, struct shape shape, uint64_t number) \
    {                                                                                      \
        return receive(side, shape, number, is_bulk);                                      \
    }                                                                                      \
    EXCHANGE_SYSTEM(name, name##_send, name##_receive)

SYSTEM(copy_burst, copy_in, copy_out, false)
SYSTEM(copy_bulk, copy_in, copy_out, true)
SYSTEM(zero_copy_burst, write_in_place, read_in_place, false)
SYSTEM(zero_copy_bulk, write_in_place, read_in_place, true)
SYSTEM(pool_burst, write_buffers, read_buffers, false)
SYSTEM(pool_bulk, write_buffers, read_buffers, true)

static const struct {
    const char *name;
    void (*run)(const struct exchange *exchange, struct meeting *meeting, unsigned index,
                void *side);
    bool has_pool;
} systems[] = {
    {"copy", copy_burst, false},
    {"copy-bulk", copy_bulk, false},
    {"zero-copy", zero_copy_burst, false},
    {"zero-copy-bulk", zero_copy_bulk, false},
    {"pool", pool_burst, true},
    {"pool-bulk", pool_bulk, true},
};

#define SYSTEMS (sizeof(systems) / sizeof(systems[0]))

static uint8_t *take(uint8_t **memory, size_t bytes)
{
    uint8_t *taken = *memory;

    *memory += (bytes + 4095) & ~(size_t)4095;
    return taken;
}

static struct rte_ring *make_ring(uint8_t **memory, unsigned element_bytes, unsigned count)
{
    ssize_t bytes = rte_ring_get_memsize_elem(element_bytes, count);
    struct rte_ring *ring;

    if (bytes < 0) {
        exchange_fail("there is no such ring");
    }
    ring = (struct rte_ring *)(void *)take(memory, (size_t)bytes);
    if (rte_ring_init(ring, "bench", count, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
        exchange_fail("the ring can't be made");
    }
    return ring;
}

int main(int argument_count, char **words)
{
    struct exchange exchange = exchange_arguments(argument_count, words);
    unsigned bytes = (unsigned)exchange.shape.bytes;
    unsigned count = (unsigned)(exchange.ring_bytes / bytes);
    struct meeting *meeting = exchange_memory(2 * exchange.ring_bytes + 64u * count + (1u << 20));
    uint8_t *memory = (uint8_t *)meeting + 4096;
    struct rte_ring *rings[2];
    struct rte_ring *free_rings[2] = {NULL, NULL};
    unsigned chosen = 0;
    unsigned index;

    while (chosen < SYSTEMS && strcmp(systems[chosen].name, exchange.system) != 0) {
        chosen++;
    }
    if (chosen == SYSTEMS) {
        exchange_fail("the systems are copy, zero-copy and pool, and each of them with -bulk");
    }
    if (systems[chosen].run == copy_burst || systems[chosen].run == copy_bulk) {
        if (bytes > COPY_BYTES_MAX) {
            exchange_fail("messages that are copied have 64 bytes at most");
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        if (!systems[chosen].has_pool) {
            rings[i] = make_ring(&memory, bytes, count);
            continue;
        }
        rings[i] = make_ring(&memory, sizeof(void *), count);
        free_rings[i] = make_ring(&memory, sizeof(void *), count);
        for (unsigned k = 0; k + 1 < count; k++) {
            (void)rte_ring_sp_enqueue(free_rings[i], take(&memory, 0) + (size_t)k * bytes);
        }
        (void)take(&memory, (size_t)count * bytes);
    }
    index = exchange_fork(&exchange);
    {
        struct side side = {
            .out = rings[index],
            .in = rings[1 - index],
            .free_out = free_rings[index],
            .free_in = free_rings[1 - index],
        };

        systems[chosen].run(&exchange, meeting, index, &side);
    }
    exchange_wait();
}
