/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests devices that fail silently or do not stop interrupting: the driver notices, limits the
 * damage, and works again after a restart. */
#include "owner.h"
#include <string.h>

#define UNATTENDED 16u /* virtio/net/interrupt.c */
#define STORMS     8u
#define UNCLAIMED  1024u

static struct owner owner;

static const struct way {
    enum fake_bus bus;
    uint16_t vectors;
} ways[] = {{FAKE_MMIO, 0}, {FAKE_PCI, 0}, {FAKE_PCI, 1}, {FAKE_PCI, 3}};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Starts with frames in the device and the driver, both ways. */
static void start_busy(const struct way *way)
{
    owner_prepare(&owner, way->bus, way->vectors);
    owner.parameters.tx_ring = 8;
    owner_start(&owner);
    for (unsigned i = 0; i < 12; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_true(owner_inject(&owner, 80));
    }
}

/* Checks that the driver stops, reports the reason, returns everything, and works again on the same
 * device. */
static void expect_recovery(const char *what)
{
    struct virtio_net_parameters parameters = owner.parameters;
    struct fake_device device = owner.device;

    assert_non_null(virtio_net_broken(owner.net));
    assert_non_null(strstr(virtio_net_broken(owner.net), what));
    assert_true(owner.signalled);
    assert_int_equal(owner_statistics(&owner).broken, 1);
    assert_false(owner_send(&owner, 100, 1, false));
    virtio_net_flush(owner.net);
    virtio_net_refill(owner.net);
    owner_bottom_half(&owner);
    owner_check_balance(&owner);
    owner_finish(&owner);

    owner_prepare(&owner, device.bus, device.line ? 0 : device.vectors_granted);
    owner.parameters = parameters;
    owner_start(&owner);
    assert_true(owner_inject(&owner, 80));
    assert_true(owner_send(&owner, 100, 1, false));
    virtio_net_flush(owner.net);
    assert_int_equal(owner_device_send(&owner, 10), 1);
    owner_settle(&owner);
    assert_int_equal(owner.received, 1);
    owner_finish(&owner);
}

static void healthy_device(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        start_busy(&ways[i]);
        virtio_net_watch(owner.net);
        assert_null(virtio_net_broken(owner.net));
        assert_int_equal(owner_device_send(&owner, 100), 8);
        owner_settle(&owner);
        assert_int_equal(owner.received, 3);
        assert_true(virtio_net_stop(owner.net));
        virtio_net_watch(owner.net); /* a stopped driver does not access the device */
        assert_null(virtio_net_broken(owner.net));
        owner_finish(&owner);
    }
}

static void reset_by_another_party(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        start_busy(&ways[i]);
        fake_hot_reset();
        owner_interrupts(&owner);
        assert_null(virtio_net_broken(owner.net)); /* not noticed yet */
        virtio_net_watch(owner.net);
        expect_recovery("was reset");
    }
}

static void asks_for_a_reset(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        start_busy(&ways[i]);
        owner.device.status |= VIRTIO_STATUS_NEEDS_RESET;
        virtio_net_watch(owner.net); /* also without an interrupt */
        expect_recovery("asks for a reset");
    }
}

/* A removed device keeps its buffers until it is back and confirms a reset. */
static void removed_and_inserted(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        struct virtio_net_statistics s;

        start_busy(&ways[i]);
        owner_settle(&owner);
        owner.device.gone = true;
        virtio_net_watch(owner.net);
        assert_non_null(strstr(virtio_net_broken(owner.net), "gone"));
        for (unsigned tries = 0; tries < 3; tries++) {
            assert_false(owner_stop(&owner));
            s = owner_statistics(&owner);
            assert_int_equal(s.rx_exposed, 8);
            assert_int_equal(s.tx_in_flight, 8);
            assert_int_equal(s.tx_queued, 0);
        }
        owner.device.gone = false;
        fake_hot_reset();
        expect_recovery("gone");
    }
}

/* On a shared line, interrupts of other devices find registers that read as all ones. */
static void removed_on_a_shared_line(void **state)
{
    (void)state;
    start_busy(&ways[1]);
    owner.device.gone = true;
    (void)virtio_net_interrupt(owner.net);
    assert_non_null(virtio_net_broken(owner.net));
    owner.device.gone = false;
    expect_recovery("gone");
}

static void status_is_read_without_the_lock(void **state)
{
    (void)state;
    start_busy(&ways[3]);
    owner.device.locked_status = false;
    fake_config_interrupt();
    owner_interrupts(&owner);
    assert_true(virtio_net_link_changed(owner.net));
    virtio_net_watch(owner.net);
    assert_false(owner.device.locked_status);
    owner_settle(&owner);
    owner_finish(&owner);
}

static void stuck_line(const struct way *way, uint8_t cause)
{
    unsigned masked = 0;

    start_busy(way);
    owner_settle(&owner);
    owner.device.isr = cause;
    owner.device.line_stuck = true;
    while (virtio_net_broken(owner.net) == NULL) {
        unsigned runs = 0;

        owner.signalled = false;
        while (!virtio_net_interrupt(owner.net)) {
            assert_true(runs++ < UNATTENDED);
        }
        assert_true(virtio_net_interrupt(owner.net)); /* until the bottom half has run */
        masked++;
        assert_true(masked <= STORMS);
        assert_int_equal(owner_statistics(&owner).interrupts_masked, masked);
        assert_true(owner.signalled);
        (void)virtio_net_bottom_half(owner.net);
    }
    assert_int_equal(masked, STORMS);
    owner.device.line_stuck = false;
    expect_recovery("do not end");
}

/* Acknowledging has no effect; or, as with QEMU's MMIO device after a protocol error, it clears the
 * cause and leaves the line high. */
static void line_that_stays_high(void **state)
{
    (void)state;
    stuck_line(&ways[0], VIRTIO_CAUSE_QUEUE);
    stuck_line(&ways[0], 0);
    stuck_line(&ways[1], VIRTIO_CAUSE_QUEUE);
}

/* An interrupt for frames that polling has already taken is spurious, but the driver goes on
 * working. */
static void interrupts_after_polling(void **state)
{
    (void)state;
    start_busy(&ways[0]);
    owner_settle(&owner);
    for (unsigned i = 0; i < 2 * STORMS * UNATTENDED; i++) {
        assert_true(owner_inject(&owner, 80));
        (void)virtio_net_poll(owner.net);
        owner_fetch_frames(&owner);
        owner.device.isr = VIRTIO_CAUSE_QUEUE;
        if (virtio_net_interrupt(owner.net)) {
            (void)virtio_net_bottom_half(owner.net);
        }
    }
    assert_null(virtio_net_broken(owner.net));
    assert_true(owner_statistics(&owner).interrupts_masked >= STORMS);
    owner_settle(&owner);
    owner_finish(&owner);
}

/* Messages without a cause lead only to bounded handler runs and do no harm. */
static void endless_messages(void **state)
{
    (void)state;
    for (unsigned i = 2; i < WAYS; i++) {
        start_busy(&ways[i]);
        owner_settle(&owner);
        for (unsigned round = 0; round < 10 * STORMS; round++) {
            unsigned runs = 1;

            while (!virtio_net_configuration_interrupt(owner.net)) {
                assert_true(runs++ < UNATTENDED);
            }
            assert_int_equal(runs, UNATTENDED);
            assert_true(owner.signalled);
            owner_bottom_half(&owner);
        }
        assert_null(virtio_net_broken(owner.net));
        assert_int_equal(owner_statistics(&owner).interrupts_masked, 10 * STORMS);
        owner_finish(&owner);
    }
}

/* Other devices on the line interrupt without limit: the line is not masked and the bottom half not
 * signalled. This device's own interrupts count as usual. */
static void other_devices_on_the_line(void **state)
{
    (void)state;
    start_busy(&ways[1]);
    owner_settle(&owner);
    owner.signalled = false;
    for (unsigned i = 1; i <= 20 * UNCLAIMED; i++) {
        assert_false(virtio_net_interrupt(owner.net));
        fake_clock += 100000; /* 10,000 per second */
    }
    assert_false(owner.signalled);
    for (unsigned i = 1; i < UNATTENDED; i++) {
        owner.device.isr = VIRTIO_CAUSE_QUEUE;
        assert_false(virtio_net_interrupt(owner.net));
        for (unsigned other = 0; other < 3 * UNATTENDED; other++) {
            assert_false(virtio_net_interrupt(owner.net));
            fake_clock += 100000;
        }
    }
    assert_int_equal(owner_statistics(&owner).interrupts_masked, 0);
    owner.device.isr = VIRTIO_CAUSE_QUEUE;
    assert_true(virtio_net_interrupt(owner.net));
    assert_true(owner.signalled);
    assert_int_equal(owner_statistics(&owner).interrupts_masked, 1);
    owner_bottom_half(&owner);
    assert_null(virtio_net_broken(owner.net));
    owner_finish(&owner);
}

/* A shared line stays high and no device claims it: threads still get processor time. The driver
 * does not take this for a fault of its device. */
static void line_claimed_by_no_device(void **state)
{
    (void)state;
    start_busy(&ways[1]);
    owner_settle(&owner);
    for (unsigned round = 0; round < 3 * STORMS; round++) {
        unsigned runs = 1;

        owner.signalled = false;
        while (!virtio_net_interrupt(owner.net)) {
            fake_clock += 10000;
            runs++;
            assert_true(runs <= UNCLAIMED);
        }
        assert_true(virtio_net_mask_requested(owner.net));
        assert_true(owner.signalled);
        owner_bottom_half(&owner);
        assert_false(virtio_net_mask_requested(owner.net));
    }
    assert_null(virtio_net_broken(owner.net));
    owner_finish(&owner);
}

/* The device ignores the suppression and delivers frames without end. An interrupt handles no more
 * than its budget, few interrupts are taken before the bottom half runs, and the device does not
 * count as broken, because the frames are valid. */
static void endless_delivery(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        owner_prepare(&owner, ways[i].bus, ways[i].vectors);
        owner.parameters.interrupt_budget = 4;
        owner_start(&owner);
        for (unsigned round = 0; round < 20 * STORMS; round++) {
            unsigned runs = 0;
            bool masked = false;

            owner_bottom_half(&owner);
            while (!masked) {
                uint64_t moved = owner_statistics(&owner).descriptors_moved;

                while (owner_inject(&owner, 64)) {
                }
                owner.device.isr = VIRTIO_CAUSE_QUEUE;
                masked = virtio_net_interrupt(owner.net);
                moved = owner_statistics(&owner).descriptors_moved - moved;
                assert_true(moved <= 4);
                assert_true(++runs <= UNATTENDED);
            }
            assert_int_equal(runs, UNATTENDED);
        }
        assert_null(virtio_net_broken(owner.net));
        assert_int_equal(owner_statistics(&owner).descriptors_moved_max, fake_pool == NULL ? 4 : 0);
        memset(owner.device.raised, 0, sizeof(owner.device.raised));
        owner.device.isr = 0;
        owner.signalled = true;
        owner_settle(&owner);
        assert_int_equal(owner.received, owner.injected);
        owner_finish(&owner);
    }
}

static void longest_handler_run(void **state)
{
    (void)state;
    for (unsigned measure = 0; measure < 2; measure++) {
        owner_prepare(&owner, FAKE_PCI, 3);
        owner_start(&owner);
        fake_instructions = UINT32_MAX - 10; /* wraps */
        for (uint32_t length = 100; length <= 300; length += 50) {
            fake_instructions_step = measure == 0 ? 0 : length <= 250 ? length : 60;
            (void)virtio_net_interrupt(owner.net);
        }
        assert_int_equal(owner_statistics(&owner).handler_instructions_max, 250 * measure);
        fake_instructions_step = 400 * measure;
        (void)virtio_net_configuration_interrupt(owner.net);
        assert_int_equal(owner_statistics(&owner).handler_instructions_max, 400 * measure);
        fake_instructions_step = 0;
        owner_finish(&owner);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_device),
        cmocka_unit_test(reset_by_another_party),
        cmocka_unit_test(asks_for_a_reset),
        cmocka_unit_test(removed_and_inserted),
        cmocka_unit_test(removed_on_a_shared_line),
        cmocka_unit_test(status_is_read_without_the_lock),
        cmocka_unit_test(line_that_stays_high),
        cmocka_unit_test(interrupts_after_polling),
        cmocka_unit_test(endless_messages),
        cmocka_unit_test(other_devices_on_the_line),
        cmocka_unit_test(line_claimed_by_no_device),
        cmocka_unit_test(endless_delivery),
        cmocka_unit_test(longest_handler_run),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
