/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the network driver with a pool: the smallest one, large frames that wait for slots, memory
 * that a device keeps, and a device that changes the pool all the time.
 */
#include "net_balance.h"
#include "owner.h"
#include "virtio/net_polled.h"
#include <limits.h>
#include <string.h>

#define SMALLEST     VIRTIO_POOL_BYTES_MIN
#define LARGEST      (1024u * 1024)
#define HEADER       VIRTIO_NET_HEADER_BYTES
#define LARGE        60000u
#define LARGE_SLOTS  30u /* of 2048 bytes, with the header */
#define BIGGEST      VIRTIO_NET_GSO_FRAME_MAX
#define ENOUGH       43u /* receive buffers for MRG_RXBUF: VIRTIO_NET_LARGE_RECEIVE_BYTES */
#define LARGE_IN_ALL 6u

static struct owner owner;
static _Alignas(VIRTIO_POOL_ALIGNMENT) uint8_t memory[LARGEST];
static struct virtio_pool pool;
static uint8_t frame[HEADER + BIGGEST];

static void prepare(enum fake_bus bus, uint16_t vectors, size_t bytes)
{
    virtio_pool_init(&pool, memory, bytes);
    fake_pool = &pool;
    owner_prepare(&owner, bus, vectors);
}

static void start(enum fake_bus bus, uint16_t vectors, size_t bytes)
{
    prepare(bus, vectors, bytes);
    owner_start(&owner);
    fake_ask_notification(0);
    fake_ask_notification(1);
}

static void finish(void)
{
    size_t bytes = pool.bytes;

    owner_finish(&owner);
    assert_int_equal(virtio_pool_free_bytes(&pool), bytes);
}

/* Returns a frame that the device divides into segments. */
static struct owner_packet *large_packet(uint32_t bytes)
{
    struct owner_packet *ours = owner_packet(&owner, bytes, 8);

    ours->packet.gso_type = VIRTIO_NET_GSO_TCPV4;
    ours->packet.gso_bytes = 1460;
    ours->packet.header_bytes = 54;
    ours->packet.checksum_partial = true;
    ours->packet.checksum_start = 34;
    ours->packet.checksum_offset = 16;
    return ours;
}

static bool send_large(uint32_t bytes)
{
    struct owner_packet *ours = large_packet(bytes);

    ours->with_driver = virtio_net_transmit(owner.net, &ours->packet);
    owner.sent += ours->with_driver;
    return ours->with_driver;
}

/* The device takes the next frame, which has to be packet `number` of so many bytes. Returns the
 * number of descriptors. */
static unsigned take_large(unsigned number, uint32_t bytes, struct ring_chain *chain)
{
    const struct owner_packet *ours = &owner.packets[number];
    uint32_t at = HEADER;

    assert_int_equal(fake_transmit(frame, sizeof(frame), false, chain), bytes + HEADER);
    assert_int_equal(frame[1], VIRTIO_NET_GSO_TCPV4);
    for (unsigned i = 0; i < ours->packet.segment_count; i++) {
        assert_memory_equal(frame + at, ours->packet.segment[i].memory,
                            ours->packet.segment[i].bytes);
        at += ours->packet.segment[i].bytes;
    }
    return chain->count;
}

/* The device sends all frames, as long as new ones come. */
static void send_all(uint32_t bytes)
{
    do {
        while (fake_available(1) != 0) {
            struct ring_chain chain;

            (void)take_large(owner.sent_by_device++, bytes, &chain);
            fake_complete(1, &chain, 0);
        }
        fake_ask_notification(1);
        owner_settle(&owner);
    } while (fake_available(1) != 0);
}

static void smallest_pool(void **state)
{
    (void)state;
    for (uint16_t vectors = 0; vectors < 4; vectors++) {
        prepare(vectors == 0 ? FAKE_MMIO : FAKE_PCI, vectors, SMALLEST);
        owner.parameters.rx_buffers = ENOUGH;
        owner.parameters.rx_buffers_max = OWNER_BUFFERS;
        owner.device.offered |= VIRTIO_NET_F_MRG_RXBUF;
        owner_start(&owner);
        fake_ask_notification(1);
        assert_true(virtio_net_offers_gso(owner.net, VIRTIO_NET_GSO_TCPV4));
        assert_true((virtio_net_features(owner.net) & VIRTIO_NET_F_MRG_RXBUF) != 0);
        assert_int_equal(fake_available(0), ENOUGH);
        assert_true(send_large(BIGGEST));
        assert_false(send_large(BIGGEST + 1));
        virtio_net_flush(owner.net);
        send_all(BIGGEST);
        assert_int_equal(owner.sent_by_device, 1);
        finish();
    }
}

/* The numbers of buffers follow the pool. */
static void many_buffers(void **state)
{
    (void)state;
    prepare(FAKE_PCI, 3, SMALLEST);
    owner.parameters.rx_buffers = 500;
    owner.parameters.rx_buffers_max = 1000;
    owner.parameters.tx_ring = 32768;
    owner.device.queue[1].size_max = 1024;
    owner_start(&owner);
    assert_int_equal(virtio_net_receive_target(owner.net), SMALLEST / 8 * 3 / 1536);
    assert_int_equal(fake_ring(1)->size, 256);
    finish();
}

static void pools_that_are_too_small(void **state)
{
    (void)state;
    prepare(FAKE_PCI, 3, SMALLEST - 64);
    assert_string_equal(owner_try_start(&owner), "its pool has too little free memory");
    assert_int_equal(owner.device.status & VIRTIO_STATUS_DRIVER_OK, 0);
    owner_release(&owner);
    for (unsigned i = 0; i < 2; i++) {
        prepare(FAKE_PCI, 3, SMALLEST);
        owner.parameters.receive_bytes = i == 0 ? SMALLEST / 2 : UINT32_MAX;
        assert_string_equal(owner_try_start(&owner), "its pool has too little free memory");
        owner_release(&owner);
    }
}

static void polling_is_refused(void **state)
{
    (void)state;
    prepare(FAKE_PCI, 3, LARGEST);
    owner.parameters.polling = true;
    assert_string_equal(owner_try_start(&owner),
                        "it has a pool, which a driver that polls does not use");
    owner_release(&owner);
}

static void memory_exhausted(void **state)
{
    unsigned left = 0;

    (void)state;
    for (;; left++) {
        prepare(FAKE_PCI, 3, SMALLEST);
        fake_allocations_left = left;
        if (owner_try_start(&owner) == NULL) {
            break;
        }
        fake_allocations_left = UINT_MAX;
        assert_int_equal(virtio_pool_free_bytes(&pool), SMALLEST);
        owner_release(&owner);
    }
    assert_int_equal(left, 9); /* the driver; records and pieces of two rings and of the slots */
    fake_allocations_left = UINT_MAX;
    finish();
}

static void prepare_pairs(unsigned pairs)
{
    prepare(FAKE_PCI, 3, pairs * SMALLEST);
    owner.parameters.queue_pairs = 4;
    owner.device.offered |= VIRTIO_NET_F_MQ | VIRTIO_NET_F_CTRL_VQ;
    owner.device.config[8] = 4;
    fake_control_begin(8);
    owner.device.on_notify = fake_control_notify;
}

static void finish_pairs(unsigned pairs)
{
    owner.device.on_notify = NULL;
    assert_true(virtio_net_stop(owner.net));
    virtio_net_free(owner.net);
    assert_int_equal(virtio_pool_free_bytes(&pool), pairs * SMALLEST);
    owner_release(&owner);
}

/* Each pair needs the smallest pool. */
static void pairs_follow_the_pool(void **state)
{
    (void)state;
    for (unsigned pairs = 1; pairs <= 4; pairs++) {
        prepare_pairs(pairs);
        owner_start(&owner);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(virtio_net_pair(owner.net, i) != NULL, i < pairs);
        }
        finish_pairs(pairs);
    }
}

/* Segmentation was accepted because of the first pair's ring. */
static void ring_of_another_pair_is_smaller(void **state)
{
    (void)state;
    prepare_pairs(2);
    owner.device.queue[3].size_max = 16;
    owner_start(&owner);
    assert_true(virtio_net_offers_gso(owner.net, VIRTIO_NET_GSO_TCPV4));
    assert_false(
        virtio_net_transmit(virtio_net_pair(owner.net, 1), &large_packet(16 * 2048)->packet));
    finish_pairs(2);
}

/* Large frames that find no slots wait, and are sent in order. */
static void large_frames_wait(void **state)
{
    (void)state;
    for (uint16_t vectors = 0; vectors < 4; vectors++) {
        start(vectors == 0 ? FAKE_MMIO : FAKE_PCI, vectors, SMALLEST);
        for (unsigned i = 0; i < LARGE_IN_ALL; i++) {
            assert_true(send_large(LARGE));
        }
        assert_int_equal(owner_statistics(&owner).tx_queued, LARGE_IN_ALL - 1);
        assert_int_equal(fake_available(1), 1);
        send_all(LARGE);
        assert_int_equal(owner.sent_by_device, LARGE_IN_ALL);
        owner_fetch_packets(&owner);
        assert_int_equal(owner.returned, LARGE_IN_ALL);
        owner_check_balance(&owner);
        finish();
    }
}

/* A frame fills slots one after the other, and its descriptors say so. */
static void frames_fill_slots(void **state)
{
    struct ring_chain chain;

    (void)state;
    start(FAKE_PCI, 3, LARGEST);
    assert_true(send_large(LARGE));
    virtio_net_flush(owner.net);
    assert_int_equal(take_large(0, LARGE, &chain), LARGE_SLOTS);
    for (unsigned i = 0; i < LARGE_SLOTS; i++) {
        assert_int_equal(chain.segment[i].bytes,
                         i + 1 < LARGE_SLOTS ? 2048 : LARGE + HEADER - 2048 * (LARGE_SLOTS - 1));
    }
    fake_complete(1, &chain, 0);
    finish();
}

/* A ring that has no room for the slots of a large frame: no segmentation, and a smaller MTU. */
static void small_rings(void **state)
{
    static const uint16_t sizes[] = {1, 2, 16, 32, 64};

    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t room = sizes[i] * 2048u - HEADER - 18u;

        fake_skip(VIRTIO_F_RING_PACKED); /* MTU and sizes are the same */
        prepare(FAKE_PCI, 3, SMALLEST);
        owner.device.queue[1].size_max = sizes[i];
        owner.device.offered |= VIRTIO_NET_F_MRG_RXBUF;
        owner.parameters.rx_buffers = ENOUGH;
        owner.parameters.mtu_max = 9000;
        owner.device.config[10] = (uint8_t)9000;
        owner.device.config[11] = 9000 >> 8;
        owner_start(&owner);
        assert_int_equal(virtio_net_offers_gso(owner.net, VIRTIO_NET_GSO_TCPV4), sizes[i] > 32);
        assert_int_equal(virtio_net_mtu(owner.net), room < 9000 ? room : 9000);
        assert_true(owner_send(&owner, virtio_net_mtu(owner.net) + 14u, 8, false));
        virtio_net_flush(owner.net);
        assert_int_not_equal(fake_available(1), 0);
        assert_false(owner_send(&owner, virtio_net_mtu(owner.net) + 15u, 8, false));
        finish();
    }
}

/* The owner's buffer may be larger than a slot: the rest is not exposed. */
static void slot_limits_the_length(void **state)
{
    struct ring_chain chain;

    (void)state;
    prepare(FAKE_PCI, 3, SMALLEST);
    owner.buffer_capacity = 4000;
    owner_start(&owner);
    assert_true(fake_pop(0, &chain));
    assert_int_equal(chain.segment[0].bytes, 1536);
    fake_push(0, chain.id, 1537);
    owner_move(&owner);
    assert_string_equal(virtio_net_broken(owner.net),
                        "used length beyond the chain's writable bytes");
    owner_bottom_half(&owner);
    finish();
}

/* The frame is the one at the time of the copy, whatever the device writes later. */
static void device_changes_the_pool(void **state)
{
    struct virtio_net_buffer *buffer;
    struct ring_chain chain;

    (void)state;
    start(FAKE_PCI, 3, SMALLEST);
    assert_true(fake_pop(0, &chain));
    memset(fake_memory(&chain.segment[0]), 0, HEADER);
    memset(fake_memory(&chain.segment[0]) + HEADER, 0x11, 60);
    fake_complete(0, &chain, HEADER + 60);
    owner_move(&owner);
    memset(memory, 0xff, SMALLEST);
    buffer = virtio_net_receive(owner.net);
    assert_non_null(buffer);
    assert_int_equal(buffer->frame_bytes, 60);
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(buffer->memory[HEADER + i], 0x11);
    }
    owner_take_back(buffer);
    owner.received++;
    virtio_net_interrupt(owner.net);
    owner_bottom_half(&owner);
    finish();
}

/* 2.4.1: memory of the pool stays with a device that does not confirm the reset. */
static void reset_that_is_not_confirmed(void **state)
{
    size_t free_bytes;

    (void)state;
    start(FAKE_PCI, 3, SMALLEST);
    free_bytes = virtio_pool_free_bytes(&pool);
    assert_true(owner_send(&owner, 100, 1, false));
    owner.device.stuck_in_reset = true;
    assert_false(owner_stop(&owner));
    virtio_net_free(owner.net);
    assert_int_equal(virtio_pool_free_bytes(&pool), free_bytes);
    owner.transport->pool = NULL; /* the owner probes again */
    owner.device.stuck_in_reset = false;
    finish();
}

static unsigned turns;

/* Another thread, while a sender copies a frame with the lock released. */
static void bottom_half_while_copying(void)
{
    fake_on_unlock = NULL;
    if (turns++ == 0) {
        /* The frame has no slots, as long as the sender has them. */
        assert_true(send_large(LARGE));
        owner.signalled = false;
        assert_false(virtio_net_bottom_half(owner.net));
        assert_int_equal(owner_statistics(&owner).tx_queued, 1);
    }
}

/* The bottom half does not wait actively for slots that a preempted sender holds, and the sender
 * sees to the packet afterwards. */
static void sender_holds_the_slots(void **state)
{
    struct owner_packet *first;

    (void)state;
    start(FAKE_PCI, 3, SMALLEST);
    turns = 0;
    first = large_packet(LARGE); /* which takes more than half of the slots */
    first->with_driver = true;
    owner.sent++; /* the other frame is the next one */
    fake_on_unlock = bottom_half_while_copying;
    assert_true(virtio_net_transmit(owner.net, &first->packet));
    fake_on_unlock = NULL;
    assert_int_equal(turns, 1);
    virtio_net_flush(owner.net);
    send_all(LARGE);
    assert_int_equal(owner.sent_by_device, 2);
    finish();
}

/* Another thread fills the ring of two entries, while a sender copies. */
static void fill_ring_while_copying(void)
{
    fake_on_unlock = NULL;
    assert_true(owner_send(&owner, 60, 1, false));
    assert_true(owner_send(&owner, 60, 1, false));
}

/* The packet waits, and its slots are free for others: there are four. */
static void ring_fills_while_copying(void **state)
{
    (void)state;
    prepare(FAKE_PCI, 3, SMALLEST);
    owner.parameters.tx_ring = 2;
    owner_start(&owner);
    fake_ask_notification(1);
    for (unsigned round = 0; round < 10; round++) {
        struct owner_packet *ours = owner_packet(&owner, 60, 1);
        struct ring_chain chain;

        ours->with_driver = true;
        owner.sent++;
        fake_on_unlock = fill_ring_while_copying;
        assert_true(virtio_net_transmit(owner.net, &ours->packet));
        assert_int_equal(owner_statistics(&owner).tx_queued, 1);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(fake_transmit(frame, sizeof(frame), true, &chain), HEADER + 60);
            fake_ask_notification(1);
            owner_settle(&owner);
            owner_bottom_half(&owner);
        }
        assert_int_equal(frame[HEADER], ours->number); /* the last one, because the ring was full */
        assert_int_equal(owner.returned, owner.sent);
    }
    finish();
}

static void break_while_copying(void)
{
    fake_on_unlock = NULL;
    owner.device.status |= VIRTIO_STATUS_NEEDS_RESET;
    virtio_net_watch(owner.net);
}

/* The device breaks while a sender copies: the packet is refused, and its slots are free. */
static void device_breaks_while_copying(void **state)
{
    (void)state;
    for (unsigned large = 0; large < 2; large++) {
        start(FAKE_PCI, 3, SMALLEST);
        fake_on_unlock = break_while_copying;
        assert_false(large != 0 ? send_large(LARGE) : owner_send(&owner, 100, 1, false));
        assert_non_null(virtio_net_broken(owner.net));
        finish();
    }
}

/* The smallest pool has room for each driver, one after the other. */
static void both_drivers_in_turn(void **state)
{
    struct virtio_polled *polled;

    (void)state;
    virtio_pool_init(&pool, memory, SMALLEST);
    polled = virtio_polled_create(&pool);
    assert_non_null(polled);
    assert_int_equal(virtio_pool_free_bytes(&pool), SMALLEST);
    for (unsigned round = 0; round < 3; round++) {
        const char *reason = NULL;

        fake_pool = &pool;
        owner_prepare(&owner, FAKE_PCI, 3);
        fake_allocations = 1; /* the polled driver */
        owner_start(&owner);
        assert_true(owner_inject(&owner, 60));
        owner_settle(&owner);
        assert_true(virtio_net_stop(owner.net));
        virtio_net_free(owner.net);
        assert_int_equal(virtio_pool_free_bytes(&pool), SMALLEST);
        assert_true(virtio_polled_start(polled, owner.transport, &reason));
        assert_true(fake_receive(frame, 60, 0));
        assert_int_equal(virtio_polled_receive(polled, frame, sizeof(frame)), 60);
        owner.device.stuck_in_reset = true;
        assert_false(virtio_polled_stop(polled));
        assert_true(virtio_pool_free_bytes(&pool) < SMALLEST);
        owner.transport->pool = NULL; /* the owner probes again */
        owner.device.stuck_in_reset = false;
        assert_true(virtio_polled_stop(polled));
        assert_int_equal(virtio_pool_free_bytes(&pool), SMALLEST);
        fake_allocations--;
        owner_release(&owner);
        fake_allocations++;
    }
    virtio_polled_destroy(polled);
    assert_int_equal(fake_allocations, 0);
}

static void polled_driver_without_memory(void **state)
{
    const char *reason = NULL;
    struct virtio_polled *polled;

    (void)state;
    prepare(FAKE_PCI, 3, SMALLEST);
    polled = virtio_polled_create(&pool);
    assert_non_null(polled);
    owner.transport = fake_probe(&owner.mmio, &owner.pci);
    for (unsigned left = 0; left < 2; left++) {
        fake_allocations_left = left;
        assert_false(virtio_polled_start(polled, owner.transport, &reason));
        fake_allocations_left = UINT_MAX;
        assert_string_equal(reason, "no memory for the rings in the pool");
        assert_true(virtio_polled_stop(polled));
        assert_int_equal(virtio_pool_free_bytes(&pool), SMALLEST);
    }
    owner.transport->pool = NULL; /* not the one that the driver was created for */
    assert_false(virtio_polled_start(polled, owner.transport, &reason));
    assert_true(virtio_polled_stop(polled));
    virtio_polled_destroy(polled);
    owner_release(&owner);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest_pool),
        cmocka_unit_test(many_buffers),
        cmocka_unit_test(pools_that_are_too_small),
        cmocka_unit_test(polling_is_refused),
        cmocka_unit_test(memory_exhausted),
        cmocka_unit_test(pairs_follow_the_pool),
        cmocka_unit_test(ring_of_another_pair_is_smaller),
        cmocka_unit_test(large_frames_wait),
        cmocka_unit_test(frames_fill_slots),
        cmocka_unit_test(small_rings),
        cmocka_unit_test(slot_limits_the_length),
        cmocka_unit_test(device_changes_the_pool),
        cmocka_unit_test(reset_that_is_not_confirmed),
        cmocka_unit_test(sender_holds_the_slots),
        cmocka_unit_test(ring_fills_while_copying),
        cmocka_unit_test(device_breaks_while_copying),
        cmocka_unit_test(both_drivers_in_turn),
        cmocka_unit_test(polled_driver_without_memory),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
