/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames and control commands as the device moves them, honestly or not. What a queue is for shows
 * in its chains, so that all net features and any number of queues are the same here. */
#include "hostile.h"
#include <string.h>

#define HEADER_BYTES VIRTIO_NET_HEADER_BYTES
#define FRAME_MAX    (UINT32_C(65536) + 64)
#define COMMAND_MAX  512u /* more than any command has */
#define MERGED_MAX   20u

static uint8_t frame_memory[HEADER_BYTES + FRAME_MAX];

unsigned traffic_control_index(void)
{
    return device_features(VIRTIO_NET_F_MQ) ? 2u * device.config[8] : 2u;
}

static bool is_control(unsigned index)
{
    return device_features(VIRTIO_NET_F_CTRL_VQ) && index == traffic_control_index();
}

static bool is_receive(unsigned index)
{
    return index % 2 == 0 && !is_control(index);
}

void traffic_signal(unsigned index)
{
    struct queue *queue = device_queue(index);

    if (queue != NULL && ring_wants_interrupt(&queue->ring)) {
        device_raise(queue->vector, VIRTIO_CAUSE_QUEUE);
    }
}

static void push(struct queue *queue, const struct ring_chain *chain, uint32_t bytes)
{
    queue->last_id = chain->id;
    ring_return(&queue->ring, chain, 1, bytes);
}

/* Copies between the chain's segments of one direction and flat memory. Returns how much. */
static uint32_t copy(const struct ring_chain *chain, bool writable, uint8_t *flat, uint32_t bytes)
{
    uint32_t done = 0;

    for (unsigned i = 0; i < chain->count && done < bytes; i++) {
        const struct ring_segment *segment = &chain->segment[i];
        uint32_t piece = segment->bytes < bytes - done ? segment->bytes : bytes - done;
        uint8_t *memory;

        if (segment->writable != writable) {
            continue;
        }
        memory = memory_reach(segment->address, piece, writable);
        if (memory != NULL && writable) {
            memory_write(memory, flat + done, piece);
        } else if (memory != NULL) {
            memory_read(flat + done, memory, piece);
        }
        done += piece;
    }
    return done;
}

/* num_buffers came with VERSION_1 and MRG_RXBUF (5.1.6). */
uint32_t traffic_header_bytes(void)
{
    return (device.accepted & (VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF)) != 0 ? 12 : 10;
}

/* Before VERSION_1 the header is alone in its descriptor, unless the device accepts any layout
 * (2.7.4.3). */
static void check_layout(const struct ring_chain *chain)
{
    HOSTILE_CHECK(!device_strict() ||
                      (device.accepted & (VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT)) != 0 ||
                      (chain->count > 1 && chain->segment[0].bytes == traffic_header_bytes()),
                  "the header is not alone in its descriptor (2.7.4.3)");
}

/* The header as the standard says (5.1.6.4), or something else. */
static void write_header(uint8_t *memory, uint32_t bytes, unsigned buffers, uint32_t lie)
{
    uint8_t header[HEADER_BYTES] = {0};

    if (device_features(VIRTIO_NET_F_GUEST_CSUM)) {
        header[0] = 2; /* DATA_VALID */
    }
    if (device_features(VIRTIO_NET_F_GUEST_TSO4) && bytes > 1518) {
        header[0] = 1;
        header[1] = 1;
        header[2] = 54;
        header[4] = 0xa8;
        header[5] = 5;
        header[6] = 34;
        header[8] = 16;
    }
    header[10] = (uint8_t)buffers;
    device.lies |= lie != 0 ? LIE_FRAME : 0;
    for (unsigned i = 0; i < HEADER_BYTES; i++) {
        if ((lie >> i & 1u) != 0) {
            header[i] = (uint8_t)(lie >> (i + 8));
        }
    }
    if (device_features(VIRTIO_NET_F_MRG_RXBUF) && (lie & 0xc00u) != 0) {
        device.lies |= LIE_RING; /* frames begin and end elsewhere */
    }
    memcpy(memory, header, traffic_header_bytes());
}

/* Chains for `bytes`; without mergeable buffers one. Returns their number, *room is what they hold.
 */
static unsigned collect_chains(struct queue *queue, struct ring_chain *chains, uint32_t bytes,
                               uint32_t *room)
{
    unsigned limit = device_features(VIRTIO_NET_F_MRG_RXBUF) ? MERGED_MAX : 1;
    unsigned count = 0;

    *room = 0;
    while (count < limit && *room < bytes && ring_take(&queue->ring, &chains[count])) {
        check_layout(&chains[count]);
        *room += chains[count].writable;
        count++;
    }
    return count;
}

static bool receive_one(struct queue *queue, uint32_t bytes, uint32_t lie)
{
    static struct ring_chain chains[MERGED_MAX];
    uint32_t header = traffic_header_bytes();
    uint8_t *at = frame_memory;
    uint32_t room;
    uint32_t left;
    unsigned count = collect_chains(queue, chains, bytes + header, &room);

    if (count == 0 || room < header + 14) {
        HOSTILE_CHECK(count == 0 || !device_strict(), "a receive chain of %u bytes", room);
        return false;
    }
    for (unsigned i = 0; i < count && device_strict(); i++) {
        for (unsigned each = 0; each < chains[i].count; each++) {
            memory_mark_received(chains[i].segment[each].address, chains[i].segment[each].bytes);
        }
    }
    left = room < bytes + header ? room : bytes + header;
    frame_fill(frame_memory + header, pool_expect(left - header), left - header);
    write_header(frame_memory, bytes, count, lie);
    for (unsigned i = 0; i < count; i++) {
        uint32_t piece = copy(&chains[i], true, at, left);

        push(queue, &chains[i], piece);
        at += piece;
        left -= piece;
    }
    return true;
}

void traffic_receive(unsigned pair, unsigned count, uint32_t bytes, uint32_t header)
{
    struct queue *queue = device_queue(2 * pair);

    if (queue == NULL || !is_receive(2 * pair)) {
        return;
    }
    while (count-- != 0 && receive_one(queue, bytes, header)) {
    }
    traffic_signal(2 * pair);
}

void traffic_take(unsigned index, unsigned count)
{
    struct queue *queue = device_queue(index);
    uint32_t limit = is_control(index) ? COMMAND_MAX : (uint32_t)sizeof(frame_memory);

    if (queue == NULL || is_receive(index)) {
        return;
    }
    while (count-- != 0 && queue->held_count < HELD_MAX) {
        struct ring_chain *chain = &queue->held[queue->held_count];
        uint32_t bytes;

        if (!ring_take(&queue->ring, chain)) {
            return;
        }
        queue->held_count++;
        HOSTILE_CHECK(!device_strict() || chain->readable <= limit, "a frame of %u bytes",
                      chain->readable);
        bytes = copy(chain, false, frame_memory, chain->readable < limit ? chain->readable : limit);
        if (device_strict() && is_control(index)) {
            control_check_command(chain, frame_memory, bytes);
        } else if (device_strict()) {
            HOSTILE_CHECK(chain->writable == 0, "writable memory in a frame to send");
            check_layout(chain);
            pool_check_sent(frame_memory, bytes);
        }
    }
}

static void forget(struct queue *queue, unsigned which)
{
    queue->held[which] = queue->held[--queue->held_count];
}

/* 2.7.9, 2.8.9: one used element for several chains, with the last one's id. */
static void return_batch(struct queue *queue, unsigned count)
{
    ring_return(&queue->ring, queue->held, count, 0);
    queue->held_count -= count;
    memmove(queue->held, queue->held + count, queue->held_count * sizeof(queue->held[0]));
}

void traffic_return(unsigned index, unsigned count, uint32_t order)
{
    struct queue *queue = device_queue(index);

    if (queue == NULL || is_receive(index)) {
        return;
    }
    if (device_features(VIRTIO_F_IN_ORDER) && !is_control(index) && queue->held_count != 0) {
        return_batch(queue, count < queue->held_count ? count | (count == 0) : queue->held_count);
        count = 0;
    }
    while (count-- != 0 && queue->held_count != 0) {
        unsigned which = order++ % queue->held_count;
        struct ring_chain *chain = &queue->held[which];
        uint8_t acknowledge = 0; /* VIRTIO_NET_OK */

        push(queue, chain, chain->writable != 0 ? copy(chain, true, &acknowledge, 1) : 0);
        forget(queue, which);
    }
    traffic_signal(index);
}

void traffic_ask(unsigned index, bool never)
{
    struct queue *queue = device_queue(index);

    if (queue != NULL) {
        if (never) {
            ring_ask_never(&queue->ring);
        } else {
            ring_ask(&queue->ring, 0);
        }
    }
}

/* Of a chain the device has, if any: taken now from a receive queue. */
static const struct ring_chain *some_chain(struct queue *queue, bool receive)
{
    static struct ring_chain taken;

    if (receive) {
        return ring_take(&queue->ring, &taken) ? &taken : NULL;
    }
    if (queue->held_count == 0) {
        return NULL;
    }
    taken = queue->held[0];
    forget(queue, 0);
    return &taken;
}

static void lie_with_chain(struct queue *queue, const struct ring_chain *chain, unsigned which,
                           uint32_t value)
{
    switch (which) {
    case 0: /* longer than can be */
        push(queue, chain, chain->writable + 1 + value);
        break;
    case 1:
        push(queue, chain, UINT32_MAX - value % 64);
        break;
    case 2: /* shorter than a header, or not even begun */
        push(queue, chain, value % 27);
        break;
    case 3: /* it and the same again */
        push(queue, chain, chain->writable == 0 ? 0 : 64);
        push(queue, chain, chain->writable == 0 ? 0 : 64);
        break;
    case 4: /* another one, near it */
        ring_push(&queue->ring, chain->id + 1 + value % 3, value % 64, 1, chain->descriptors);
        break;
    default: /* of any length, with nothing written */
        push(queue, chain, value % (chain->writable + 1));
    }
}

void traffic_lie(unsigned index, unsigned which, uint32_t value)
{
    struct queue *queue = device_queue(index);
    const struct ring_chain *chain;

    if (queue == NULL) {
        return;
    }
    device.lies |= LIE_RING;
    if (which < 4) {
        ring_lie(queue, which, value);
    } else if (which == 4) { /* an id from nowhere */
        ring_push(&queue->ring, value, 64, 1, 1);
    } else if (which == 5) { /* one that came back already */
        ring_push(&queue->ring, queue->last_id, value % 128, 1, 1);
    } else {
        chain = some_chain(queue, is_receive(index));
        if (chain != NULL) {
            lie_with_chain(queue, chain, which - 6, value);
        }
    }
    traffic_signal(index);
}

void traffic_poke(unsigned index, uint32_t where, uint32_t value)
{
    struct queue *queue = device_queue(index);
    const uint64_t area[] = {queue == NULL ? 0 : queue->ring.descriptors,
                             queue == NULL ? 0 : queue->ring.driver_area,
                             queue == NULL ? 0 : queue->ring.device_area};
    uint32_t bytes;

    if (queue == NULL) {
        return;
    }
    device.lies |= LIE_RING;
    bytes = ring_area_bytes(&queue->ring, where % 3);
    (void)memory_store(area[where % 3] + (where / 3 % bytes & ~1u), &value, 2);
}

void traffic_scribble(uint32_t value)
{
    device.lies |= LIE_RING | LIE_FRAME;
    memory_scribble_pool(value, value % 4 == 0);
    for (unsigned i = 0; i < BUFFER_SLOTS; i++) {
        uint64_t address = (uint64_t)(uintptr_t)memory_buffer_slot(i) + DMA_OFFSET;

        for (unsigned at = 0; at < 64; at += 4) {
            (void)memory_store(address + at, &value, 4);
        }
    }
}
