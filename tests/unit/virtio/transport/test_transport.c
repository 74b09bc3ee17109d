/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests probing and the transport's operations: MMIO (VIRTIO 1.3, 4.2) and PCI (4.1). */
#include "fake.h"
#include <string.h>

static struct fake_device device;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static const char *reason;

static bool probe_mmio(size_t bytes)
{
    return virtio_mmio_probe(&mmio, FAKE_MMIO_BASE, bytes, &reason);
}

static bool probe_pci(uint16_t vectors)
{
    return virtio_pci_probe(&pci, (struct virtio_pci_function *)&device, vectors, &reason);
}

static void mmio_wrong_magic(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    device.magic = 0x12345678;
    assert_false(probe_mmio(0x200));
    assert_non_null(reason);
}

static void mmio_absent_device_is_silent(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    device.device_id = 0;
    assert_false(probe_mmio(0x200));
    assert_null(reason);
    device.version = 1; /* an empty slot of QEMU, with its default */
    assert_false(probe_mmio(0x200));
    assert_null(reason);
    assert_int_equal(device.trace_count, 0); /* the device was not written to */
}

static void mmio_versions(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    device.version = 1;
    assert_true(probe_mmio(0x200));
    assert_null(reason);
    assert_true(mmio.transport.legacy);
    device.version = 3;
    assert_false(probe_mmio(0x200));
    assert_non_null(reason);
    device.version = 2;
    assert_true(probe_mmio(0x200));
    assert_null(reason);
    assert_false(mmio.transport.legacy);
    assert_int_equal(mmio.transport.config_bytes, 0x100);
    assert_int_equal(mmio.transport.device_type, VIRTIO_DEVICE_NETWORK);
}

static void mmio_region_too_small(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    assert_false(probe_mmio(0xff));
    assert_non_null(reason);
    assert_true(probe_mmio(0x100));
    assert_int_equal(mmio.transport.config_bytes, 0);
}

/* Bug of other drivers: the high word is never selected, or selected in the driver's register. */
static void both_halves_of_the_features(void **state)
{
    uint64_t features;

    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        struct virtio_transport *transport;

        fake_reset_device(&device, bus, 0);
        device.offered = UINT64_C(0x9234567989abcdef);
        device.device_feature_select = 7;
        device.driver_feature_select = 7;
        transport = fake_probe(&mmio, &pci);
        assert_true(transport->operations->device_features(transport) == device.offered);
        assert_true(virtio_transport_begin(transport, &reason));
        assert_true(virtio_transport_negotiate(transport, UINT64_C(0x8000000100000005), &features,
                                               &reason));
        assert_true(features == UINT64_C(0x8000000100000005));
        assert_true(device.accepted == features);
    }
}

static void version_1_is_required(void **state)
{
    uint64_t features;

    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    device.offered &= ~VIRTIO_F_VERSION_1;
    assert_true(probe_mmio(0x200));
    assert_true(virtio_transport_begin(&mmio.transport, &reason));
    assert_false(virtio_transport_negotiate(&mmio.transport, ~UINT64_C(0), &features, &reason));
    assert_non_null(strstr(reason, "VERSION_1"));
}

/* Bug of other drivers: FEATURES_OK is not read back. */
static void refused_features_are_noticed(void **state)
{
    uint64_t features;

    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        struct virtio_transport *transport;

        fake_reset_device(&device, bus, 0);
        device.refuse_features = true;
        transport = fake_probe(&mmio, &pci);
        assert_true(virtio_transport_begin(transport, &reason));
        assert_false(virtio_transport_negotiate(transport, 0, &features, &reason));
        assert_non_null(reason);
    }
}

static void status_bits_are_added(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_PCI, 0);
    assert_true(probe_pci(0));
    assert_true(virtio_transport_begin(&pci.transport, &reason));
    device.status |= VIRTIO_STATUS_NEEDS_RESET; /* the device's own bit stays */
    virtio_transport_add_status(&pci.transport, VIRTIO_STATUS_FAILED);
    assert_int_equal(device.status, 0xc3);
}

static void reset_is_waited_for(void **state)
{
    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        struct virtio_transport *transport;

        fake_reset_device(&device, bus, 0);
        transport = fake_probe(&mmio, &pci);
        device.reset_reads = 25;
        assert_true(virtio_transport_reset(transport));
        assert_int_equal(device.reset_reads_left, 0);
        device.status = 1;
        device.stuck_in_reset = true;
        assert_false(virtio_transport_reset(transport)); /* the function returns nevertheless */
        assert_false(virtio_transport_begin(transport, &reason));
        assert_non_null(reason);
    }
}

/* 4.2.3.3: a queue must read back as not ready. */
static void reset_waits_for_the_queues(void **state)
{
    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        struct virtio_transport *transport;

        fake_reset_device(&device, bus, 0);
        transport = fake_probe(&mmio, &pci);
        transport->queues = 2;
        device.ready_stuck = true;
        assert_false(virtio_transport_reset(transport));
        device.ready_stuck = false;
        assert_true(virtio_transport_reset(transport));
        assert_true(transport->queues == 0);
    }
}

static void generation_loop(void **state)
{
    struct virtio_config_field fields[2] = {{.offset = 0, .bytes = 1}, {.offset = 6, .bytes = 2}};

    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        struct virtio_transport *transport;

        fake_reset_device(&device, bus, 0);
        transport = fake_probe(&mmio, &pci);
        device.config_changes = 5;
        assert_true(virtio_transport_read_config(transport, fields, 2));
        assert_int_equal(fields[0].value, device.config[0]);
        assert_int_equal(fields[1].value, 1);
        device.config_changes = 1000;
        /* Gives up after a bounded number of reads. */
        assert_false(virtio_transport_read_config(transport, fields, 2));
        assert_true(device.config_changes > 900);
    }
}

static void configuration_bounds(void **state)
{
    struct virtio_config_field field = {.offset = 10, .bytes = 2};

    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    assert_true(probe_mmio(0x10b));
    assert_false(virtio_transport_read_config(&mmio.transport, &field, 1));
    assert_true(probe_mmio(0x10c));
    assert_true(virtio_transport_read_config(&mmio.transport, &field, 1));
    assert_int_equal(field.value, 1500);
}

static void mmio_acknowledges_defined_causes_only(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    assert_true(probe_mmio(0x200));
    device.isr = 0xf1;
    assert_int_equal(mmio.transport.operations->interrupt_cause(&mmio.transport), 1);
    assert_int_equal(device.isr, 0xf0);
    /* The write arrives before the caller reads the rings. */
    assert_false(device.acknowledge_posted);
    device.trace_count = 0;
    assert_int_equal(mmio.transport.operations->interrupt_cause(&mmio.transport), 0);
    assert_int_equal(device.trace_count, 0);
}

static void pci_identities(void **state)
{
    static const struct {
        uint16_t vendor, device, subsystem;
        uint32_t type;
    } cases[] = {
        {0x1af4, 0x1041, 0, 1}, {0x1af4, 0x1042, 0, 2}, {0x1af4, 0x1000, 1, 1},
        {0x1af4, 0x1001, 2, 2}, {0x1af4, 0x1110, 1, 0}, {0x1af4, 0x1040, 1, 0},
        {0x8086, 0x1041, 1, 0}, {0x1af4, 0x0fff, 1, 0}, {0x1af4, 0x1000, 0, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_reset_device(&device, FAKE_PCI, 0);
        fake_pci_describe(&device, cases[i].device);
        device.pci.config[0] = (uint8_t)cases[i].vendor;
        device.pci.config[1] = (uint8_t)(cases[i].vendor >> 8);
        device.pci.config[0x08] = (uint8_t)i; /* any revision */
        device.pci.config[0x2e] = (uint8_t)cases[i].subsystem;
        assert_int_equal(probe_pci(0), cases[i].type != 0);
        assert_null(reason);
        assert_int_equal(pci.transport.device_type, cases[i].type);
    }
}

static void pci_is_switched_on(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_PCI, 0);
    assert_true(probe_pci(0));
    assert_int_equal(device.pci.config[4] & 6, 6);
    assert_int_equal(device.pci.config[5] & 4, 0); /* the line may interrupt */
}

static void pci_larger_structures_are_fine(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_PCI, 0);
    fake_pci_capability(&device, 0x74, 0x64, 0x24, 1, 4, 0, 0x1000);
    fake_pci_capability(&device, 0x40, 0, 0x18, 2, 4, 0x3000, 0x1000);
    assert_true(probe_pci(0));
}

static void pci_first_usable_structure_wins(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_PCI, 0);
    /* Before the good one: a reserved BAR, one outside its BAR, one too short, one misaligned;
     * after it: another good one. */
    device.pci.config[0x34] = 0x98;
    fake_pci_capability(&device, 0x98, 0xb0, 16, 1, 6, 0, 0x1000);
    fake_pci_capability(&device, 0xb0, 0xc0, 16, 1, 4, 0x3fff0, 0x1000);
    fake_pci_capability(&device, 0xc0, 0xd0, 16, 1, 4, 0, 0x37);
    fake_pci_capability(&device, 0xd0, 0xe0, 16, 1, 4, 2, 0x1000);
    fake_pci_capability(&device, 0xe0, 0xf0, 16, 0x77, 4, 0, 0x1000); /* reserved type */
    fake_pci_capability(&device, 0xf0, 0x84, 16, 1, 4, 0xffffff00, 0xffffffff);
    fake_pci_capability(&device, 0x84, 0x74, 16, 1, 4, 0, 0x1000);
    fake_pci_capability(&device, 0x74, 0x64, 16, 1, 4, 0x800, 0x1000);
    assert_true(probe_pci(0));
    assert_int_equal(pci.transport.registers, FAKE_PCI_BASE + 4 * FAKE_BAR_BYTES);
}

static void pci_capability_loop_ends(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_PCI, 0);
    device.pci.config[0x84 + 1] = 0x84; /* itself */
    assert_false(probe_pci(0));
    assert_non_null(reason);
    device.pci.config[0x84 + 1] = 0x74;
    device.pci.config[0x64 + 1] = 0x84; /* a round */
    assert_false(probe_pci(0));
    assert_non_null(reason);
}

static void pci_random_capabilities(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        fake_reset_device(&device, FAKE_PCI, 0);
        for (unsigned i = 0; i < 1 + round % 40; i++) {
            seed = seed * 1664525 + 1013904223;
            device.pci.config[0x34 + (seed >> 8) % (256 - 0x34)] = (uint8_t)(seed >> 24);
        }
        device.map_calls = 0;
        if (probe_pci(0)) {
            assert_true(pci.transport.registers % 4 == 0 && pci.transport.notify % 2 == 0);
        } else {
            assert_non_null(reason);
        }
        assert_true(device.map_calls < 64);
    }
}

static void pci_missing_structures(void **state)
{
    static const unsigned at[] = {0x74, 0x40, 0x64};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        fake_reset_device(&device, FAKE_PCI, 0);
        device.pci.config[at[i] + 3] = 0x55;
        assert_false(probe_pci(0));
        assert_non_null(reason);
    }
    assert_true(probe_pci(3)); /* with vectors the driver needs no interrupt status register */
    fake_reset_device(&device, FAKE_PCI, 0);
    device.pci.config[6] = 0; /* no capability list at all */
    assert_false(probe_pci(0));
    fake_reset_device(&device, FAKE_PCI, 0);
    device.pci.config[0x40 + 2] = 16; /* notification capability without its multiplier */
    assert_false(probe_pci(0));
    fake_reset_device(&device, FAKE_PCI, 0);
    device.pci.config[0x54 + 3] = 0x55; /* no device configuration: nothing can be read */
    assert_true(probe_pci(0));
    assert_int_equal(pci.transport.config_bytes, 0);
}

static void pci_notification_address(void **state)
{
    struct virtio_queue_setup setup = {.index = 0,
                                       .size = 8,
                                       .vector = VIRTIO_NO_VECTOR,
                                       .descriptors = 0x100,
                                       .driver_area = 0x200,
                                       .device_area = 0x300};
    struct virtio_notification notification;
    uint64_t features;

    (void)state;
    fake_reset_device(&device, FAKE_PCI, 0);
    /* Times 4, plus 2: the last address that fits in 0x1000. */
    device.queue[0].notify_offset = 0x3ff;
    device.queue[1].notify_offset = 0x400;
    assert_true(probe_pci(0));
    assert_true(virtio_transport_begin(&pci.transport, &reason));
    assert_true(virtio_transport_negotiate(&pci.transport, 0, &features, &reason));
    assert_true(
        pci.transport.operations->queue_enable(&pci.transport, &setup, &notification, &reason));
    setup.index = 1;
    assert_false(
        pci.transport.operations->queue_enable(&pci.transport, &setup, &notification, &reason));
    assert_non_null(strstr(reason, "notification"));
    assert_false(device.queue[1].enabled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mmio_wrong_magic),
        cmocka_unit_test(mmio_absent_device_is_silent),
        cmocka_unit_test(mmio_versions),
        cmocka_unit_test(mmio_region_too_small),
        cmocka_unit_test(both_halves_of_the_features),
        cmocka_unit_test(version_1_is_required),
        cmocka_unit_test(refused_features_are_noticed),
        cmocka_unit_test(status_bits_are_added),
        cmocka_unit_test(reset_is_waited_for),
        cmocka_unit_test(reset_waits_for_the_queues),
        cmocka_unit_test(generation_loop),
        cmocka_unit_test(configuration_bounds),
        cmocka_unit_test(mmio_acknowledges_defined_causes_only),
        cmocka_unit_test(pci_identities),
        cmocka_unit_test(pci_is_switched_on),
        cmocka_unit_test(pci_larger_structures_are_fine),
        cmocka_unit_test(pci_first_usable_structure_wins),
        cmocka_unit_test(pci_capability_loop_ends),
        cmocka_unit_test(pci_random_capabilities),
        cmocka_unit_test(pci_missing_structures),
        cmocka_unit_test(pci_notification_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
