/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random traffic both ways with every combination of transport, interrupts and features, past the
 * wrap of the ring indices. Frames are sent singly and in bursts and completed in any order;
 * receive buffers run out; interrupts are late or spurious. From time to time the device completes
 * all chains, and then no buffer may be left anywhere.
 */
#include "owner.h"
#include <string.h>

static struct owner owner;
static uint32_t seed;
static struct ring_chain held[300]; /* taken by the device, not finished */
static unsigned held_count;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

static uint32_t frame_bytes(void)
{
    return random_below(32) == 0 ? 14 + random_below(1501) : 14 + random_below(60);
}

static void send_burst(bool checksums)
{
    for (unsigned count = 1 + random_below(random_below(8) == 0 ? 100 : 4); count != 0; count--) {
        uint32_t bytes = frame_bytes();

        if (owner.sent - owner.returned >= OWNER_PACKETS ||
            !owner_send(&owner, bytes, 1 + random_below(8), checksums && bytes % 2 == 0)) {
            break;
        }
    }
    virtio_net_flush(owner.net);
}

static void device_takes(unsigned limit)
{
    while (limit-- != 0 && held_count < 300 && owner_device_take(&owner, &held[held_count])) {
        held_count++;
    }
    fake_ask_notification(1);
}

static void device_finishes(unsigned limit)
{
    if ((fake->accepted & VIRTIO_F_IN_ORDER) != 0) { /* completes chains in batches */
        while (held_count != 0 && limit != 0) {
            unsigned batch = 1 + random_below(limit < held_count ? limit : held_count);

            fake_push_batch(1, held, batch, 0);
            fake_signal(1);
            held_count -= batch;
            limit -= batch;
            memmove(&held[0], &held[batch], held_count * sizeof(held[0]));
        }
        return;
    }
    while (held_count != 0 && limit-- != 0) {
        unsigned which = random_below(held_count);

        fake_complete(1, &held[which], 0);
        held[which] = held[--held_count];
    }
}

static void device_receives(unsigned count)
{
    while (count-- != 0 && owner_inject(&owner, frame_bytes())) {
    }
    if (random_below(2) == 0) {
        fake_ask_notification(0);
    }
}

static void step(bool checksums)
{
    switch (random_below(10)) {
    case 0:
    case 1:
        send_burst(checksums);
        break;
    case 2:
        device_takes(random_below(40));
        break;
    case 3:
        device_finishes(random_below(40));
        break;
    case 4:
    case 5:
        device_receives(random_below(8));
        break;
    case 6:
        owner_interrupts(&owner);
        break;
    case 7:
        if (owner.signalled) {
            owner_bottom_half(&owner);
        }
        break;
    case 8:
        owner_fetch_packets(&owner);
        if (random_below(16) == 0) {
            virtio_net_interrupt(owner.net); /* spurious */
        }
        break;
    default:
        /* Buffers run out and come back. */
        owner.buffers_usable = random_below(3) == 0 ? random_below(12) : OWNER_BUFFERS;
        virtio_net_refill(owner.net);
    }
}

/* The device completes its chains as long as new ones come. Interrupts and signals must do the
 * rest. */
static void expect_nothing_left(void)
{
    struct virtio_net_statistics s;

    owner.buffers_usable = OWNER_BUFFERS;
    virtio_net_refill(owner.net);
    do {
        device_takes(300);
        device_finishes(300);
        owner_settle(&owner);
    } while (fake_available(1) != 0);
    s = owner_statistics(&owner);
    assert_int_equal(s.tx_queued, 0);
    assert_int_equal(s.rx_queued, 0);
    assert_int_equal(owner.received, owner.injected);
    assert_int_equal(owner.sent_by_device, owner.sent);
    /* The number of completed packets not worth an interrupt stays within its bound. */
    assert_true(s.tx_in_flight < 16);
    assert_null(virtio_net_broken(owner.net));
    owner_check_balance(&owner);
    owner_fetch_packets(&owner);
    assert_int_equal(owner.returned, owner.sent);
}

static void soak(enum fake_bus bus, uint16_t vectors, uint64_t features_off, unsigned frames)
{
    owner_prepare(&owner, bus, vectors);
    owner.parameters.features_off = features_off;
    owner.parameters.tx_ring = 32;
    owner.parameters.interrupt_budget = (uint16_t)(1 + vectors * 20);
    owner_start(&owner);
    fake_ask_notification(0);
    fake_ask_notification(1);
    held_count = 0;
    while (owner.received < frames || owner.sent < frames) {
        for (unsigned i = 0; i < 300; i++) {
            step((features_off & VIRTIO_NET_F_CSUM) == 0);
        }
        expect_nothing_left();
        assert_int_equal(owner_statistics(&owner).rx_exposed, 8);
    }
    assert_true(owner.signals_in_handler_max <= 1);
    if ((features_off & VIRTIO_F_INDIRECT_DESC) == 0 &&
        fake_pool == NULL) { /* a slot is one piece */
        assert_true(owner.device.queue[1].ring.indirect_chains != 0);
    }
    owner_finish(&owner);
}

static void every_combination(enum fake_bus bus, uint16_t vectors, unsigned frames)
{
    for (unsigned off = 0; off < 8; off++) {
        seed = off + vectors * 8u + (unsigned)bus * 100u;
        soak(bus, vectors,
             ((off & 1) != 0 ? VIRTIO_F_EVENT_IDX : 0) |
                 ((off & 2) != 0 ? VIRTIO_F_INDIRECT_DESC : 0) |
                 ((off & 4) != 0 ? VIRTIO_NET_F_CSUM : 0),
             frames);
    }
}

static void mmio_line(void **state)
{
    (void)state;
    every_combination(FAKE_MMIO, 0, 66000);
}

static void pci_line(void **state)
{
    (void)state;
    every_combination(FAKE_PCI, 0, 10000);
}

static void pci_one_vector(void **state)
{
    (void)state;
    every_combination(FAKE_PCI, 1, 10000);
}

static void pci_two_vectors(void **state)
{
    (void)state;
    every_combination(FAKE_PCI, 2, 10000);
}

static void pci_three_vectors(void **state)
{
    (void)state;
    every_combination(FAKE_PCI, 3, 10000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mmio_line),         cmocka_unit_test(pci_line),
        cmocka_unit_test(pci_one_vector),    cmocka_unit_test(pci_two_vectors),
        cmocka_unit_test(pci_three_vectors),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
