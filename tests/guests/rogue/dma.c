/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The NIC reads and writes memory for this partition at the addresses in its rings (VIRTIO 1.3,
 * 2.7), so it can be used to attack others' memory. Rings and buffers lie in pages of this
 * partition, except the part that the attack places elsewhere.
 */
#include "discovery.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "rogue.h"
#include "virtio/features.h"
#include "virtio/transport.h"
#include <arch/device_access.h>
#include <string.h>

#define ENTRIES      256u
#define RECEIVE      0u
#define TRANSMIT     1u
#define HEADER_BYTES 12u   /* 5.1.6 */
#define BUFFER_BYTES 1600u /* the largest frame, with its header */
#define FRAME_BYTES  60u
#define NEXT         1u
#define WRITABLE     2u
#define INDIRECT     4u
/* More than the report of refused DMA may wait for that of another partition (docs/decisions/0062).
 */
#define PATIENCE (3000 * NANOSECONDS_PER_MILLISECOND)

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags, next;
};

struct available {
    uint16_t flags, index, ring[ENTRIES];
};

struct used {
    uint16_t flags, index;
    struct {
        uint32_t id, bytes;
    } ring[ENTRIES];
};

struct queue {
    struct descriptor descriptors[ENTRIES] __attribute__((aligned(16)));
    struct available available;
    volatile struct used used __attribute__((aligned(4)));
    struct descriptor indirect[2] __attribute__((aligned(16)));
};

/* Addresses that the device is given. 0 stands for the rogue's own memory. */
struct places {
    uint64_t descriptors, available, used, indirect, transmit, receive;
};

struct shared {
    struct queue queues[2];
    uint8_t sent[HEADER_BYTES + FRAME_BYTES];
    uint8_t received[BUFFER_BYTES];
};

#define PAGES ((sizeof(struct shared) + PAGE_BYTES - 1) / PAGE_BYTES)

static struct virtio_network_device nic;

static uint64_t place_or_own(uint64_t place, const volatile void *own)
{
    return place != 0 ? place : (uintptr_t)own;
}

/* Fills in a broadcast frame of an EtherType for experiments (IEEE 802, 9.2). */
static void fill_frame(uint8_t *frame)
{
    static const uint8_t head[14] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52,
                                     0x54, 0,    0x12, 0x34, 0x99, 0x88, 0xb5};
    static const char text[] = "from the rogue's own memory";

    memcpy(frame, head, sizeof head);
    memcpy(frame + sizeof head, text, sizeof text);
}

static void fill_queues(struct shared *shared, const struct places *places)
{
    struct queue *receive = &shared->queues[RECEIVE], *transmit = &shared->queues[TRANSMIT];
    struct descriptor *chain = places->indirect != 0 ? transmit->indirect : transmit->descriptors;

    fill_frame(shared->sent + HEADER_BYTES);
    receive->descriptors[0] = (struct descriptor){place_or_own(places->receive, shared->received),
                                                  BUFFER_BYTES, WRITABLE, 0};
    chain[0] = (struct descriptor){(uintptr_t)shared->sent, HEADER_BYTES, NEXT, 1};
    chain[1] = (struct descriptor){place_or_own(places->transmit, shared->sent + HEADER_BYTES),
                                   FRAME_BYTES, 0, 0};
    if (places->indirect != 0) {
        transmit->descriptors[0] =
            (struct descriptor){places->indirect, 2 * sizeof(struct descriptor), INDIRECT, 0};
    }
    for (unsigned i = 0; i < 2; i++) {
        shared->queues[i].available.flags = 1; /* VIRTQ_AVAIL_F_NO_INTERRUPT */
        shared->queues[i].available.index = 1;
    }
}

/* Enables a queue with its rings at `places`, or in `shared` where `places` holds 0. */
static bool enable_queue(struct virtio_transport *transport, struct shared *shared, unsigned index,
                         const struct places *places, struct virtio_notification *notification)
{
    struct queue *queue = &shared->queues[index];
    const char *reason = "";
    const struct virtio_queue_setup setup = {
        .index = (uint16_t)index,
        .size = ENTRIES,
        .vector = VIRTIO_NO_VECTOR,
        .descriptors = place_or_own(places->descriptors, queue->descriptors),
        .driver_area = place_or_own(places->available, &queue->available),
        .device_area = place_or_own(places->used, &queue->used),
    };
    bool enabled = transport->operations->queue_enable(transport, &setup, notification, &reason);

    if (!enabled) {
        print("rogue: queue %u: %s\n", index, reason);
    }
    return enabled;
}

static bool start_nic(struct virtio_transport *transport)
{
    const char *reason = "";
    uint64_t features;

    if (virtio_transport_begin(transport, &reason) &&
        virtio_transport_negotiate(transport, VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_INDIRECT_DESC,
                                   &features, &reason) &&
        (features & VIRTIO_F_ACCESS_PLATFORM) != 0) {
        return true;
    }
    print("FAIL: rogue: can't start the NIC: %s\n", reason);
    return false;
}

static void wait_for_frames(const struct shared *shared)
{
    uint64_t end = time_after(PATIENCE);

    while ((shared->queues[RECEIVE].used.index == 0 || shared->queues[TRANSMIT].used.index == 0) &&
           time_now() < end) {
        thread_sleep_until(time_after(NANOSECONDS_PER_MILLISECOND));
    }
    device_observe_memory();
    print("sent %u, received %u: %s\n", shared->queues[TRANSMIT].used.index,
          shared->queues[RECEIVE].used.index, (const char *)shared->received + HEADER_BYTES + 14);
}

/* `chains`: how often the NIC is to send the frame. */
static void run_nic(const struct places *places, uint16_t chains)
{
    static const struct places own = {0};
    struct shared *shared = page_allocate(PAGES, PAGE_BYTES);
    struct virtio_notification notifications[2];

    if (shared == NULL || virtio_find_network(0, &nic) != RESULT_OK) {
        print("FAIL: rogue: no NIC, or no memory\n");
        return;
    }
    memset(shared, 0, sizeof(*shared));
    fill_queues(shared, places);
    shared->queues[TRANSMIT].available.index = chains;
    if (start_nic(nic.transport) &&
        enable_queue(nic.transport, shared, RECEIVE, &own, &notifications[0]) &&
        enable_queue(nic.transport, shared, TRANSMIT, places, &notifications[1])) {
        virtio_transport_add_status(nic.transport, VIRTIO_STATUS_DRIVER_OK);
        device_publish();
        nic.transport->operations->notify(nic.transport, &notifications[0]);
        nic.transport->operations->notify(nic.transport, &notifications[1]);
        print("rogue: the NIC works\n");
        wait_for_frames(shared);
    }
}

void attack_dma_none(uint64_t where)
{
    (void)where;
    run_nic(&(struct places){0}, 1);
}

void attack_dma_transmit(uint64_t where)
{
    run_nic(&(struct places){.transmit = where}, 1);
}

/* The SMMU refuses as many accesses as the ring has entries. */
void attack_dma_storm(uint64_t where)
{
    run_nic(&(struct places){.transmit = where}, ENTRIES);
}

void attack_dma_receive(uint64_t where)
{
    run_nic(&(struct places){.receive = where}, 1);
}

void attack_dma_descriptors(uint64_t where)
{
    run_nic(&(struct places){.descriptors = where}, 1);
}

void attack_dma_available(uint64_t where)
{
    run_nic(&(struct places){.available = where}, 1);
}

void attack_dma_used(uint64_t where)
{
    run_nic(&(struct places){.used = where}, 1);
}

void attack_dma_indirect(uint64_t where)
{
    run_nic(&(struct places){.indirect = where}, 1);
}
