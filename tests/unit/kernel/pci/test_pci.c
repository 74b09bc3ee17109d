/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests kernel/pci on regular hierarchies: numbering, BARs, windows, interrupts. */
#include "pci_fixture.h"
#include <arch/device_access.h>
#include <string.h>

#define NARROW_START UINT64_C(0x10000000)
#define NARROW_END   UINT64_C(0x3eff0000)
#define WIDE_START   UINT64_C(0x8000000000)
#define WIDE_FLAGS   (PCI_BAR_TYPE_64)

static void assert_inside(uint64_t address, uint64_t bytes, uint64_t start, uint64_t end)
{
    assert_in_range(address, start, end - bytes);
    assert_int_equal(address % bytes, 0);
}

/* Checks that every assigned BAR is aligned, lies in a window, and overlaps no other. */
static void assert_sound(void)
{
    for (struct pci_function *one = pci_first(); one != NULL; one = one->next) {
        for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
            const struct pci_bar *bar = &one->bar[index];

            if (bar->address == 0) {
                continue;
            }
            assert_true(bar->address % bar->bytes == 0);
            assert_true(
                (bar->address >= NARROW_START && bar->address + bar->bytes <= NARROW_END) ||
                (bar->address >= WIDE_START && bar->address + bar->bytes <= 2 * WIDE_START));
            for (struct pci_function *two = pci_first(); two != NULL; two = two->next) {
                for (unsigned other = 0; other < PCI_BAR_COUNT; other++) {
                    const struct pci_bar *second = &two->bar[other];

                    assert_true(bar == second || second->address == 0 ||
                                bar->address >= second->address + second->bytes ||
                                second->address >= bar->address + bar->bytes);
                }
            }
        }
    }
}

static void test_empty_bus_takes_a_read_per_device(void **state)
{
    (void)state;
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_null(pci_first());
    assert_int_equal(fake_counts.reads, 32);
    assert_int_equal(fake_counts.writes, 0);
}

static void test_one_device(void **state)
{
    struct fake_function *nic = fake_add(NULL, 1, 0, NIC);

    (void)state;
    pci_model_bar(&nic->pci, 0, 0x20000, 0);
    pci_model_bar(&nic->pci, 2, 32, PCI_BAR_IO);
    pci_model_bar(&nic->pci, 3, 0x10, 0);
    pci_model_bar(&nic->pci, 4, 0x4000, PREFETCHABLE);
    pci_model_set(&nic->pci, PCI_CLASS, 4, 0x02000003);
    pci_model_set(&nic->pci, PCI_COMMAND, 2, 0x7); /* left on by someone */
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_non_null(nic->found);
    assert_int_equal(nic->found->vendor_id, 0x8086);
    assert_int_equal(nic->found->device_id, 0x10D3);
    assert_int_equal(nic->found->class_code, 0x02000003);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), PCI_COMMAND_INTX_DISABLE);
    assert_int_equal(nic->found->bar[0].bytes, 0x20000);
    assert_int_equal(nic->found->bar[1].bytes, 0);
    assert_int_equal(nic->found->bar[2].bytes, 0); /* I/O */
    assert_int_equal(nic->found->bar[3].bytes, 0x10);
    assert_int_equal(nic->found->bar[4].bytes, 0x4000);
    assert_int_equal(nic->found->bar[5].bytes, 0);
    assert_true(nic->found->bar[4].wide && nic->found->bar[4].prefetchable);
    for (unsigned index = 0; index < 5; index++) {
        if (nic->found->bar[index].bytes != 0) {
            assert_int_equal(pci_model_bar_address(&nic->pci, index),
                             nic->found->bar[index].address);
            assert_inside(nic->found->bar[index].address, nic->found->bar[index].bytes,
                          NARROW_START, NARROW_END);
            /* Each BAR has its own pages. */
            assert_int_equal(nic->found->bar[index].address % 4096, 0);
        }
    }
    assert_sound();
    pci_enable(nic->found);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2),
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void test_multi_function(void **state)
{
    struct fake_function *first = fake_add(NULL, 3, 0, NIC), *third = fake_add(NULL, 3, 3, NIC);
    struct fake_function *hidden = fake_add(NULL, 4, 1, NIC), *single = fake_add(NULL, 5, 0, NIC);
    struct fake_function *ghost = fake_add(NULL, 5, 1, NIC);

    (void)state;
    pci_model_set(&first->pci, PCI_HEADER_TYPE, 1, PCI_HEADER_MULTI_FUNCTION);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_non_null(first->found);
    assert_int_equal(first->found->header_type, PCI_HEADER_DEVICE);
    assert_non_null(third->found);
    assert_null(hidden->found); /* no function 0 */
    assert_non_null(single->found);
    assert_null(ghost->found); /* its header does not say multi-function */
}

/* Two ports, one of them with a bridge that has two devices behind it. */
static void test_bridges(void **state)
{
    struct fake_function *port = fake_add_bridge(NULL, 1, true);
    struct fake_function *inner = fake_add_bridge(port, 0, true);
    struct fake_function *deep = fake_add(inner, 5, 0, NIC), *deeper = fake_add(inner, 31, 0, NIC);
    struct fake_function *last = fake_add_bridge(NULL, 2, true);
    struct fake_function *end = fake_add(last, 0, 0, NIC), *beside = fake_add(last, 1, 0, NIC);
    uint64_t base, limit;

    (void)state;
    pci_model_express(&port->pci, PCI_EXPRESS_ROOT_PORT);
    pci_model_express(&last->pci, PCI_EXPRESS_ROOT_PORT);
    pci_model_bar(&port->pci, 0, 4096, 0);
    pci_model_bar(&deep->pci, 0, 2 * MIB, 0);
    pci_model_bar(&deeper->pci, 2, 64 * MIB, PREFETCHABLE);
    pci_model_bar(&end->pci, 0, 4096, WIDE_FLAGS);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(port->found->bus, 0);
    assert_int_equal(inner->found->bus, 1);
    assert_int_equal(deep->found->bus, 2);
    assert_int_equal(deeper->found->bus, 2);
    assert_int_equal(end->found->bus, 3);
    assert_null(beside->found); /* a port has one device: not even looked for */
    assert_int_equal(pci_model_get(&port->pci, PCI_BRIDGE_BUSES, 3), 0x020100);
    assert_int_equal(pci_model_get(&inner->pci, PCI_BRIDGE_BUSES, 3), 0x020201);
    assert_int_equal(pci_model_get(&last->pci, PCI_BRIDGE_BUSES, 3), 0x030300);
    assert_ptr_equal(deep->found->bridge, inner->found);
    assert_ptr_equal(inner->found->bridge, port->found);
    assert_null(port->found->bridge);
    /* The narrow range of both bridges holds the device, and no one else's. */
    base = pci_model_get(&inner->pci, PCI_BRIDGE_MEMORY, 2) << 16;
    limit = (pci_model_get(&inner->pci, PCI_BRIDGE_MEMORY + 2, 2) << 16) + MIB;
    assert_inside(deep->found->bar[0].address, 2 * MIB, base, limit);
    assert_in_range(base, (pci_model_get(&port->pci, PCI_BRIDGE_MEMORY, 2) << 16), limit);
    assert_true(end->found->bar[0].address >= limit);
    assert_false(port->found->bar[0].address >= base && port->found->bar[0].address < limit);
    /* The prefetchable one is large and goes above 4 GiB. */
    base = (pci_model_get(&inner->pci, PCI_BRIDGE_PREFETCH, 2) & 0xFFF0) << 16 |
           pci_model_get(&inner->pci, PCI_BRIDGE_PREFETCH_BASE, 4) << 32;
    limit = ((pci_model_get(&inner->pci, PCI_BRIDGE_PREFETCH + 2, 2) & 0xFFF0) << 16 |
             pci_model_get(&inner->pci, PCI_BRIDGE_PREFETCH_LIMIT, 4) << 32) +
            MIB;
    assert_int_equal(base, WIDE_START);
    assert_inside(deeper->found->bar[2].address, 64 * MIB, base, limit);
    assert_int_equal(pci_model_bar_address(&deeper->pci, 2), deeper->found->bar[2].address);
    /* Nothing prefetchable behind the other port: closed. */
    assert_true((pci_model_get(&last->pci, PCI_BRIDGE_PREFETCH, 2) & 0xFFF0) >
                (pci_model_get(&last->pci, PCI_BRIDGE_PREFETCH + 2, 2) & 0xFFF0));
    assert_int_equal(pci_model_get(&last->pci, PCI_COMMAND, 2) & 7,
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    assert_sound();
}

/* A bridge without a 64-bit prefetchable window needs narrow addresses for everything behind it. */
static void test_narrow_bridge(void **state)
{
    struct fake_function *bridge = fake_add_bridge(NULL, 1, false);
    struct fake_function *nic = fake_add(bridge, 0, 0, NIC);

    (void)state;
    pci_model_bar(&nic->pci, 0, 64 * MIB, PREFETCHABLE);
    pci_model_bar(&nic->pci, 2, GIB, PREFETCHABLE);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_inside(nic->found->bar[0].address, 64 * MIB, NARROW_START, NARROW_END);
    assert_int_equal(nic->found->bar[2].address, 0);
    assert_int_equal(nic->found->bar[2].bytes, GIB);
    assert_int_equal(fake_counts.messages, 1);
    assert_sound();
}

static void test_wide_bars(void **state)
{
    struct fake_function *root = fake_add(NULL, 1, 0, NIC);
    struct fake_function *bridge = fake_add_bridge(NULL, 2, true);
    struct fake_function *behind = fake_add(bridge, 0, 0, NIC);

    (void)state;
    pci_model_bar(&root->pci, 0, 8 * GIB, WIDE_FLAGS);
    pci_model_bar(&root->pci, 2, 4096, WIDE_FLAGS);
    pci_model_bar(&root->pci, 4, 8 * GIB, PREFETCHABLE);
    pci_model_bar(&behind->pci, 0, GIB, WIDE_FLAGS); /* not prefetchable: no bridge window for it */
    pci_model_bar(&behind->pci, 2, 8 * GIB, PREFETCHABLE);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_inside(root->found->bar[0].address, 8 * GIB, WIDE_START, 2 * WIDE_START);
    assert_inside(root->found->bar[2].address, 4096, NARROW_START, NARROW_END);
    assert_inside(root->found->bar[4].address, 8 * GIB, WIDE_START, 2 * WIDE_START);
    assert_int_equal(behind->found->bar[0].address, 0);
    assert_inside(behind->found->bar[2].address, 8 * GIB, WIDE_START, 2 * WIDE_START);
    assert_sound();
    assert_int_equal(pci_map_bar(root->found, 0), 0); /* too large to map */
    assert_int_equal(pci_map_bar(root->found, 1), 0);
    assert_int_equal(pci_map_bar(root->found, 6), 0);
    assert_int_equal(pci_map_bar(root->found, 2), root->found->bar[2].address);
}

static void test_exhausted_windows(void **state)
{
    struct fake_function *large = fake_add(NULL, 1, 0, NIC), *small = fake_add(NULL, 2, 0, NIC);
    struct fake_function *bridge = fake_add_bridge(NULL, 3, true);
    struct fake_function *behind = fake_add(bridge, 0, 0, NIC);

    (void)state;
    pci_model_bar(&large->pci, 0, 256 * MIB, 0);
    pci_model_bar(&large->pci, 1, 256 * MIB, 0);
    pci_model_bar(&large->pci, 2, 256 * MIB, 0); /* 0x30000000..0x40000000 is cut off */
    pci_model_bar(&large->pci, 3, 2 * GIB, 0);
    pci_model_bar(&small->pci, 0, 0x800000, WIDE_FLAGS);
    pci_model_bar(&small->pci, 2, 128 * MIB, 0);
    pci_model_bar(&small->pci, 3, 64 * MIB, 0);
    pci_model_bar(&small->pci, 4, 32 * MIB, WIDE_FLAGS);
    pci_model_bar(&behind->pci, 0, 128 * MIB, 0);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_not_equal(large->found->bar[1].address, 0);
    assert_int_equal(large->found->bar[2].address, 0);
    assert_int_equal(pci_model_bar_address(&large->pci, 2), 0);
    assert_int_equal(large->found->bar[3].address, 0);
    assert_int_not_equal(small->found->bar[4].address, 0);
    assert_int_equal(behind->found->bar[0].address, 0);
    assert_int_equal(small->found->bar[2].address, 0);
    assert_int_not_equal(small->found->bar[3].address, 0);
    assert_int_equal(fake_counts.messages, 4);
    assert_sound();
    assert_int_equal(pci_map_bar(large->found, 2), 0);
}

/* Bridges do not use the last, incomplete unit of a window. */
static void test_window_with_a_tail(void **state)
{
    struct fake_function *one = fake_add(NULL, 1, 0, NIC), *two = fake_add(NULL, 2, 0, NIC);
    struct fake_function *bridge = fake_add_bridge(NULL, 3, true);
    struct fake_function *behind = fake_add(bridge, 0, 0, NIC);

    (void)state;
    pci_model_bar(&one->pci, 0, 256 * MIB, 0);
    pci_model_bar(&one->pci, 1, 256 * MIB, 0);
    pci_model_bar(&one->pci, 2, 128 * MIB, 0);
    pci_model_bar(&one->pci, 3, 64 * MIB, 0);
    pci_model_bar(&one->pci, 4, 32 * MIB, 0);
    pci_model_bar(&one->pci, 5, 8 * MIB, 0);
    pci_model_bar(&two->pci, 0, 4 * MIB, 0);
    pci_model_bar(&two->pci, 1, 2 * MIB, 0);
    pci_model_bar(&two->pci, 2, MIB, 0);
    pci_model_bar(&behind->pci, 0, 4096, 0);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(two->found->bar[2].address, 0x3ee00000);
    assert_int_equal(behind->found->bar[0].address, 0);
    assert_true((pci_model_get(&bridge->pci, PCI_BRIDGE_MEMORY, 2) & 0xFFF0) >
                (pci_model_get(&bridge->pci, PCI_BRIDGE_MEMORY + 2, 2) & 0xFFF0));
    assert_sound();
}

static void set_bar(struct fake_function *function, unsigned index, uint64_t address)
{
    unsigned offset = PCI_BAR + 4 * index;
    uint64_t low = pci_model_get(&function->pci, offset, 4);

    pci_model_set(&function->pci, offset, 4, (address & PCI_BAR_ADDRESS_MASK) | low);
    if ((low & PCI_BAR_TYPE) == PCI_BAR_TYPE_64) {
        pci_model_set(&function->pci, offset + 4, 4, address >> 32);
    }
}

static void test_assigned_bars_stay(void **state)
{
    struct fake_function *one = fake_add(NULL, 1, 0, NIC), *two = fake_add(NULL, 2, 0, NIC);
    struct fake_function *bridge = fake_add_bridge(NULL, 3, true);
    struct fake_function *behind = fake_add(bridge, 0, 0, NIC);

    (void)state;
    pci_model_bar(&one->pci, 0, 0x20000, 0);
    set_bar(one, 0, 0x30000000);
    pci_model_bar(&one->pci, 1, 0x20000, 0); /* in the same place */
    set_bar(one, 1, 0x30000000);
    pci_model_bar(&one->pci, 2, 0x20000, 0); /* in no window */
    set_bar(one, 2, 0x50000000);
    pci_model_bar(&one->pci, 4, 0x20000, PREFETCHABLE);
    set_bar(one, 4, WIDE_START + 16 * MIB);
    pci_model_bar(&two->pci, 0, MIB, 0);
    set_bar(two, 0, NARROW_START);
    pci_model_bar(&two->pci, 1, MIB, 0); /* crosses the window's end */
    set_bar(two, 1, 0x3ef00000);
    pci_model_bar(&two->pci, 2, 0x400000, 0);
    pci_model_bar(&behind->pci, 0, 4096, 0);
    set_bar(behind, 0, 0x18000000);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(one->found->bar[0].address, 0x30000000);
    assert_int_not_equal(one->found->bar[1].address, 0x30000000);
    assert_int_not_equal(one->found->bar[2].address, 0x50000000);
    assert_int_equal(one->found->bar[4].address, WIDE_START + 16 * MIB);
    assert_int_equal(two->found->bar[0].address, NARROW_START);
    assert_int_not_equal(two->found->bar[1].address, 0x3ef00000);
    for (unsigned index = 0; index < 3; index++) {
        assert_int_not_equal(one->found->bar[index].address, 0);
        assert_int_not_equal(two->found->bar[index].address, 0);
    }
    /* The bridge's range has none of the root bus's. */
    assert_in_range(behind->found->bar[0].address,
                    pci_model_get(&bridge->pci, PCI_BRIDGE_MEMORY, 2) << 16,
                    (pci_model_get(&bridge->pci, PCI_BRIDGE_MEMORY + 2, 2) << 16) + MIB - 4096);
    for (unsigned index = 0; index < 3; index++) {
        assert_true(one->found->bar[index].address / MIB != behind->found->bar[0].address / MIB);
        assert_true(two->found->bar[index].address / MIB != behind->found->bar[0].address / MIB);
    }
    assert_sound();
}

static void assert_intx(const struct fake_function *function, uint32_t expected)
{
    enum interrupt_trigger trigger;
    uint32_t number;

    assert_int_equal(pci_intx(function->found, &number, &trigger), RESULT_OK);
    assert_int_equal(number, expected);
    assert_int_equal(trigger, INTERRUPT_LEVEL);
}

static void test_ports(void **state)
{
    struct fake_function *bridge = fake_add_bridge(NULL, 3, false);
    struct fake_function *behind = fake_add(bridge, 0, 0, NIC);
    struct fake_function *nic[17];
    uint32_t bytes;

    (void)state;
    pci_model_bar(&behind->pci, 0, 32, PCI_BAR_IO);
    for (unsigned i = 0; i < 17; i++) {
        nic[i] = fake_add(NULL, (uint8_t)(4 + i), 0, NIC);
        pci_model_bar(&nic[i]->pci, 0, 32, PCI_BAR_IO);
        pci_model_bar(&nic[i]->pci, 1, 0x1000, 0);
    }
    assert_int_equal(fake_enumerate(), RESULT_OK);
    /* The first page is not used, so there is room for 15 functions. */
    for (unsigned i = 0; i < 17; i++) {
        uintptr_t expected = i < 15 ? FAKE_PORTS + UINT64_C(0x1000) * (i + 1) : 0;

        assert_int_equal(pci_map_ports(nic[i]->found, 0, &bytes), expected);
        /* The same address again. */
        assert_int_equal(pci_map_ports(nic[i]->found, 0, &bytes), expected);
        assert_int_equal(pci_map_ports(nic[i]->found, 1, &bytes), 0); /* memory */
        assert_int_equal(pci_map_ports(nic[i]->found, 6, &bytes), 0);
        if (i < 15) {
            assert_int_equal(pci_model_bar_address(&nic[i]->pci, 0), 0x1000u * (i + 1));
            assert_int_equal(pci_map_ports(nic[i]->found, 0, &bytes), expected);
            assert_int_equal(bytes, 32);
        }
    }
    assert_int_equal(pci_map_ports(behind->found, 0, &bytes), 0);
}

static void test_intx(void **state)
{
    struct fake_function *root = fake_add(NULL, 0, 0, NIC), *none = fake_add(NULL, 1, 0, NIC);
    struct fake_function *port = fake_add_bridge(NULL, 4, true); /* masked: like device 0 */
    struct fake_function *inner = fake_add_bridge(port, 1, true);
    struct fake_function *deep = fake_add(inner, 6, 0, NIC);
    enum interrupt_trigger trigger;
    uint32_t number;

    (void)state;
    pci_model_set(&root->pci, PCI_INTERRUPT_PIN, 1, 2);
    pci_model_set(&deep->pci, PCI_INTERRUPT_PIN, 1, 1);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_intx(root, 36);
    /* Pin 1 of device 6 is pin 3 of the inner bridge, which is device 1: pin 4 of the port. */
    assert_intx(deep, 38);
    assert_int_equal(pci_intx(none->found, &number, &trigger), RESULT_NOT_FOUND);
    pci_model_set(&none->pci, PCI_INTERRUPT_PIN, 1, 5);
    assert_int_equal(pci_intx(none->found, &number, &trigger), RESULT_NOT_FOUND);
}

static struct fake_function *watched;
static uintptr_t watched_entry;
static unsigned unmasked_writes;

/* Checks that address and data change only while the vector is masked, by its own bit or by the
 * function's. */
static void watch_entry(uintptr_t address, uint32_t value)
{
    uint32_t control = fake_memory[watched_entry + PCI_MSIX_ENTRY_CONTROL - FAKE_MEMORY];
    uint8_t capability = (uint8_t)watched->found->msix_capability;
    bool enabled =
        (pci_model_get(&watched->pci, capability + 2u, 2) & PCI_MSIX_CONTROL_ENABLE) != 0;

    (void)value;
    if (address >= watched_entry && address < watched_entry + PCI_MSIX_ENTRY_CONTROL && enabled &&
        (control & PCI_MSIX_ENTRY_MASKED) == 0) {
        unmasked_writes++;
    }
}

static void test_msix(void **state)
{
    struct fake_function *nic = fake_add(NULL, 2, 0, NIC);
    uint64_t table;

    (void)state;
    pci_model_bar(&nic->pci, 1, 0x4000, 0);
    (void)pci_model_capability(&nic->pci, 0x09, 16);
    pci_model_msix(&nic->pci, 5, 1, 0x2000);
    pci_model_set(&nic->pci, 0x50 + PCI_MSIX_CONTROL, 2, PCI_MSIX_CONTROL_ENABLE | 4); /* left on */
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(nic->found->msix_capability, 0x50);
    assert_int_equal(pci_model_get(&nic->pci, 0x50 + PCI_MSIX_CONTROL, 2), 4);
    assert_int_equal(pci_msix_vectors(nic->found), 5);
    assert_int_equal(fake_controller.prepared, 2 << 3);
    table = nic->found->bar[1].address + 0x2000;
    memset(&fake_memory[table - FAKE_MEMORY], 0, (size_t)5 * 16); /* left unmasked by firmware */
    watched = nic;
    watched_entry = table + 0x30;
    fake_memory_write = watch_entry;
    assert_int_equal(pci_msix_attach(nic->found, 5, pci_fixture_handler, NULL), RESULT_INVALID);
    assert_int_equal(pci_msix_attach(nic->found, 3, pci_fixture_handler, NULL), RESULT_OK);
    assert_int_equal(unmasked_writes, 0);
    assert_int_equal(fake_controller.device_id, 2 << 3);
    assert_int_equal(fake_controller.event, 3);
    assert_int_equal(device_read32(watched_entry), 0x23456780);
    assert_int_equal(device_read32(watched_entry + 4), 1);
    assert_int_equal(device_read32(watched_entry + 8), 3);
    for (unsigned vector = 0; vector < 5; vector++) {
        assert_int_equal(device_read32(table + (uint64_t)vector * 16 + 12), vector == 3 ? 0 : 1);
    }
    assert_int_equal(pci_model_get(&nic->pci, nic->found->msix_capability + 2u, 2),
                     PCI_MSIX_CONTROL_ENABLE | 4);
    assert_true((pci_model_get(&nic->pci, PCI_COMMAND, 2) & PCI_COMMAND_MEMORY) != 0);
    /* Again, with the vector still unmasked. */
    assert_int_equal(interrupt_detach(8192 + 3, pci_fixture_handler, NULL), RESULT_OK);
    assert_int_equal(pci_msix_attach(nic->found, 3, pci_fixture_handler, NULL), RESULT_OK);
    assert_int_equal(unmasked_writes, 0);
    fake_controller.attach_result = RESULT_BUSY;
    assert_int_equal(pci_msix_attach(nic->found, 4, pci_fixture_handler, NULL), RESULT_BUSY);
    assert_int_equal(device_read32(table + 0x40 + 12), 1);
    assert_int_equal(pci_msix_detach(nic->found, 3, NULL, NULL), RESULT_NOT_FOUND);
    assert_int_equal(device_read32(watched_entry + 12), 0); /* unchanged */
    assert_int_equal(pci_msix_detach(nic->found, 3, pci_fixture_handler, NULL), RESULT_OK);
    assert_int_equal(device_read32(watched_entry + 12), 1);
    assert_int_equal(pci_msix_detach(nic->found, 3, pci_fixture_handler, NULL), RESULT_NOT_FOUND);
    assert_int_equal(pci_msix_detach(nic->found, 5, pci_fixture_handler, NULL), RESULT_INVALID);
}

static void test_msix_without_controller(void **state)
{
    struct fake_function *nic = fake_add(NULL, 2, 0, NIC);

    (void)state;
    pci_model_bar(&nic->pci, 1, 0x4000, 0);
    pci_model_msix(&nic->pci, 5, 1, 0);
    fake_controller.absent = true;
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(pci_msix_vectors(nic->found), 0);
    assert_int_equal(pci_msix_attach(nic->found, 0, pci_fixture_handler, NULL), RESULT_UNSUPPORTED);
}

/* Behind a conventional bridge, or a PCI Express to PCI bridge, requests carry the bridge's id. */
static void test_requester_ids(void **state)
{
    struct fake_function *port = fake_add_bridge(NULL, 1, true);
    struct fake_function *express = fake_add_bridge(port, 0, true);
    struct fake_function *nic = fake_add(express, 3, 0, NIC);
    struct fake_function *conventional = fake_add_bridge(NULL, 2, true);
    struct fake_function *old = fake_add(conventional, 4, 0, NIC);

    (void)state;
    pci_model_express(&port->pci, PCI_EXPRESS_ROOT_PORT);
    pci_model_express(&express->pci, PCI_EXPRESS_TO_PCI_BRIDGE);
    pci_model_bar(&nic->pci, 0, 4096, 0);
    pci_model_bar(&old->pci, 0, 4096, 0);
    pci_model_msix(&nic->pci, 1, 0, 0);
    pci_model_msix(&old->pci, 1, 0, 0);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(pci_msix_attach(nic->found, 0, pci_fixture_handler, NULL), RESULT_OK);
    assert_int_equal(fake_controller.device_id, 2 << 8);
    assert_int_equal(pci_msix_attach(old->found, 0, pci_fixture_handler, NULL), RESULT_OK);
    assert_int_equal(fake_controller.device_id, 2 << 3);
    assert_int_equal(fake_controller.prepared, 2 << 8);
}

static void test_config_access(void **state)
{
    struct fake_function *nic = fake_add(NULL, 2, 0, NIC);

    (void)state;
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(pci_config_read(nic->found, 0, 4), NIC);
    assert_int_equal(pci_config_read(nic->found, 2, 2), NIC >> 16);
    assert_int_equal(pci_config_read(nic->found, 3, 1), NIC >> 24);
    assert_int_equal(pci_config_read(nic->found, 1, 2), UINT32_MAX);
    assert_int_equal(pci_config_read(nic->found, 2, 4), UINT32_MAX);
    assert_int_equal(pci_config_read(nic->found, 0, 3), UINT32_MAX);
    assert_int_equal(pci_config_read(nic->found, 0, 0), UINT32_MAX);
    assert_int_equal(pci_config_read(nic->found, 4096, 4), UINT32_MAX);
    pci_config_write(nic->found, 5, 2, 1);
    pci_config_write(nic->found, 4096, 4, 1);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        PCI_TEST(test_empty_bus_takes_a_read_per_device),
        PCI_TEST(test_one_device),
        PCI_TEST(test_multi_function),
        PCI_TEST(test_bridges),
        PCI_TEST(test_narrow_bridge),
        PCI_TEST(test_wide_bars),
        PCI_TEST(test_exhausted_windows),
        PCI_TEST(test_window_with_a_tail),
        PCI_TEST(test_assigned_bars_stay),
        PCI_TEST(test_intx),
        PCI_TEST(test_ports),
        PCI_TEST(test_msix),
        PCI_TEST(test_msix_without_controller),
        PCI_TEST(test_requester_ids),
        PCI_TEST(test_config_access),
    };

    return pci_fixture_load(count, arguments)
               ? cmocka_run_group_tests_name("pci", tests, NULL, pci_fixture_free)
               : 2;
}
