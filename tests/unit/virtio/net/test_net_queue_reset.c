/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the reset of one broken queue (VIRTIO 1.3, 2.6.1, VIRTIO_F_RING_RESET). */
#include "owner.h"
#include <string.h>

static struct owner owner;

#define SECOND UINT64_C(1000000000)

static void start(enum fake_bus bus)
{
    owner_prepare(&owner, bus, bus == FAKE_PCI ? 3 : 0);
    owner.device.offered |= VIRTIO_F_RING_RESET;
    owner_start(&owner);
    fake_ask_notification(0);
    fake_ask_notification(1);
    fake_clock += 10 * SECOND;
}

/* The device returns an id that it does not hold. */
static void lie(unsigned index)
{
    fake_push(index, 300, 0);
    fake_signal(index);
}

static void traffic(void)
{
    uint32_t received = owner.received;
    uint32_t sent = owner.sent_by_device;

    fake_ask_notification(0);
    fake_ask_notification(1);
    assert_true(owner_inject(&owner, 100));
    assert_true(owner_send(&owner, 200, 2, false));
    virtio_net_flush(owner.net);
    assert_int_equal(owner_device_send(&owner, 10), 1);
    owner_settle(&owner);
    assert_int_equal(owner.received, received + 1);
    assert_int_equal(owner.sent_by_device, sent + 1);
    owner_check_balance(&owner);
}

static void receive_queue(void **state)
{
    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        for (unsigned reads = 0; reads < 3; reads++) {
            unsigned log_lines = fake_log_lines;

            start(bus);
            owner.device.queue_reset_reads = reads;
            traffic();
            assert_true(owner_send(&owner, 60, 1, false)); /* the device does not send this one */
            lie(0);
            owner_settle(&owner);
            assert_null(virtio_net_broken(owner.net));
            assert_int_equal(owner.device.queue[0].resets, 1);
            assert_int_equal(owner.device.queue[1].resets, 0);
            assert_true(owner.device.queue[0].enabled);
            assert_int_equal(owner.device.queue[0].vector, bus == FAKE_PCI ? 1 : VIRTIO_NO_VECTOR);
            assert_int_equal(fake_available(0), 8);
            assert_int_equal(owner_statistics(&owner).queue_resets, 1);
            assert_int_equal(fake_log_lines, log_lines + 1); /* the operator learns of it */
            assert_int_equal(owner_statistics(&owner).rx_exposed, 8);
            owner_check_balance(&owner);
            virtio_net_flush(owner.net);
            assert_int_equal(owner_device_send(&owner, 10), 1);
            traffic();
            owner_finish(&owner);
        }
    }
}

static void transmit_queue(void **state)
{
    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        struct ring_chain chain;

        start(bus);
        traffic();
        for (unsigned i = 0; i < 5; i++) {
            assert_true(owner_send(&owner, 60, 1, false));
        }
        virtio_net_flush(owner.net);
        assert_true(owner_device_take(&owner, &chain));
        lie(1);
        /* Causes an interrupt, because the other queue has none. */
        assert_true(owner_inject(&owner, 60));
        owner_settle(&owner);
        assert_null(virtio_net_broken(owner.net));
        assert_int_equal(owner.device.queue[1].resets, 1);
        assert_int_equal(owner.returned, owner.sent); /* returned, whether sent or not */
        assert_int_equal(owner_statistics(&owner).queue_resets, 1);
        owner.sent_by_device = owner.sent;
        traffic();
        owner_finish(&owner);
    }
}

/* Packets that waited in the send queue are sent after the reset. */
static void send_queue_continues(void **state)
{
    (void)state;
    fake_skip_pool(); /* it has no room for so many packets */
    start(FAKE_PCI);
    for (unsigned i = 0; i < 300; i++) {
        assert_true(owner_send(&owner, 60, 1, false));
    }
    assert_int_equal(owner_statistics(&owner).tx_queued, 300 - 256);
    lie(1);
    owner_settle(&owner);
    owner_bottom_half(&owner);
    assert_int_equal(owner.device.queue[1].resets, 1);
    assert_int_equal(fake_available(1), 300 - 256);
    owner.sent_by_device = 256;
    assert_int_equal(owner_device_send(&owner, 300), 300 - 256);
    owner_settle(&owner);
    owner_check_balance(&owner);
    owner_finish(&owner);
}

/* If the queue breaks again at once, the whole device is broken. Later the queue may be reset
 * again. */
static void repeated_resets(void **state)
{
    (void)state;
    start(FAKE_PCI);
    for (unsigned i = 1; i < 5; i++) {
        lie(0);
        owner_settle(&owner);
        assert_null(virtio_net_broken(owner.net));
        assert_int_equal(owner.device.queue[0].resets, i);
        traffic();
        fake_clock += 2 * SECOND;
    }
    lie(0);
    owner_settle(&owner);
    assert_null(virtio_net_broken(owner.net));
    lie(0);
    owner_settle(&owner);
    assert_non_null(virtio_net_broken(owner.net));
    owner_check_balance(&owner);
    owner_finish(&owner);
}

static void reset_register_missing_on_mmio(void **state)
{
    (void)state;
    start(FAKE_MMIO);
    owner.device.no_queue_reset = true;
    lie(0);
    owner_settle(&owner);
    assert_non_null(virtio_net_broken(owner.net));
    assert_int_equal(owner_statistics(&owner).queue_resets, 0);
    owner_finish(&owner);
}

static void reset_register_missing_on_pci(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.device.offered |= VIRTIO_F_RING_RESET;
    owner.device.common_bytes = 0x38;
    fake_pci_capability(&owner.device, 0x74, 0x64, 16, 1, 4, 0, 0x38);
    owner_start(&owner);
    lie(0);
    owner_settle(&owner);
    assert_non_null(virtio_net_broken(owner.net));
    owner_finish(&owner);
}

static void reset_without_end(void **state)
{
    uint64_t before;

    (void)state;
    start(FAKE_PCI);
    owner.device.queue_reset_reads = 1u << 30;
    lie(0);
    before = fake_clock;
    owner_settle(&owner);
    assert_in_range(fake_clock - before, SECOND, 2 * SECOND);
    assert_non_null(virtio_net_broken(owner.net));
    assert_int_equal(owner_statistics(&owner).rx_exposed, 8); /* the device still holds them */
    owner_finish(&owner);
}

static void no_reset_without_the_feature(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 3);
    owner_start(&owner);
    lie(0);
    owner_settle(&owner);
    assert_non_null(virtio_net_broken(owner.net));
    assert_int_equal(owner.device.queue[0].resets, 0);
    owner_finish(&owner);
}

static void refused_when_enabled_again(void **state)
{
    (void)state;
    start(FAKE_PCI);
    owner.device.vectors_granted = 0;
    lie(0);
    owner_settle(&owner);
    assert_non_null(strstr(virtio_net_broken(owner.net), "vector"));
    owner_check_balance(&owner);
    owner_finish(&owner);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receive_queue),
        cmocka_unit_test(transmit_queue),
        cmocka_unit_test(send_queue_continues),
        cmocka_unit_test(repeated_resets),
        cmocka_unit_test(reset_register_missing_on_mmio),
        cmocka_unit_test(reset_register_missing_on_pci),
        cmocka_unit_test(reset_without_end),
        cmocka_unit_test(no_reset_without_the_feature),
        cmocka_unit_test(refused_when_enabled_again),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
