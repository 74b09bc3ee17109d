/* SPDX-License-Identifier: BSD-2-Clause */
/* Restores functions that were reset without the kernel's knowledge. */
#include "pci_fixture.h"
#include <arch/device_access.h>
#include <string.h>

static void test_restore(void **state)
{
    struct fake_function *bridge = fake_add_bridge(NULL, 3, true);
    struct fake_function *all[2] = {fake_add(NULL, 2, 0, NIC), fake_add(bridge, 0, 0, NIC)};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        pci_model_bar(&all[i]->pci, 0, 32, PCI_BAR_IO);
        pci_model_bar(&all[i]->pci, 1, 0x4000, 0);
        pci_model_bar(&all[i]->pci, 2, 32 * MIB, PREFETCHABLE); /* wide window */
        pci_model_bar(&all[i]->pci, 4, 0x8000, PREFETCHABLE);
        pci_model_msix(&all[i]->pci, 3, 1, 0x2000);
    }
    assert_int_equal(fake_enumerate(), RESULT_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct fake_function *nic = all[i];
        uint8_t capability = (uint8_t)nic->found->msix_capability;
        uint8_t before[FAKE_CONFIG_BYTES];
        uint32_t number, bytes;
        uint64_t entry = nic->found->bar[1].address + 0x2000 + 16;

        pci_enable(nic->found);
        assert_int_equal(pci_map_ports(nic->found, 0, &bytes) != 0, i == 0);
        assert_int_equal(pci_msix_attach(nic->found, 1, pci_fixture_handler, NULL), RESULT_OK);
        assert_int_equal(pci_msix_number(nic->found, 1, &number), RESULT_OK);
        assert_int_equal(number, 8193);
        assert_int_equal(pci_msix_number(nic->found, 3, &number), RESULT_INVALID);
        memcpy(before, nic->pci.config, sizeof(before));
        assert_int_equal(pci_restore(nic->found), RESULT_OK); /* nothing was lost */
        assert_memory_equal(nic->pci.config, before, sizeof(before));

        pci_model_forget(&nic->pci);
        pci_model_set(&nic->pci, capability + 2u, 2, 2);
        memset(&fake_memory[entry - FAKE_MEMORY], 0, 16);
        pci_model_set(&nic->pci, PCI_VENDOR_ID, 4, UINT32_MAX); /* not ready */
        assert_int_equal(pci_restore(nic->found), RESULT_NOT_FOUND);
        assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
        pci_model_set(&nic->pci, PCI_VENDOR_ID, 4, NIC);
        assert_int_equal(pci_restore(nic->found), RESULT_OK);
        assert_int_equal(pci_msix_detach(nic->found, 1, pci_fixture_handler, NULL), RESULT_OK);
        assert_int_equal(pci_msix_attach(nic->found, 1, pci_fixture_handler, NULL), RESULT_OK);
        assert_memory_equal(nic->pci.config, before, sizeof(before));
        assert_int_equal(device_read32(entry), 0x23456780);
        assert_int_equal(device_read32(entry + 12), 0);
        assert_int_equal(pci_msix_detach(nic->found, 1, pci_fixture_handler, NULL), RESULT_OK);
    }
}

/* A function comes to an empty slot. The one that was there before keeps its addresses and its
 * command. */
static void test_rescan(void **state)
{
    struct fake_function *first = fake_add(NULL, 2, 0, NIC), *second;
    struct pci_function *known;
    uint64_t address;

    (void)state;
    pci_model_bar(&first->pci, 1, 0x4000, 0);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    known = pci_first();
    address = known->bar[1].address;
    pci_enable(known);
    assert_true(pci_is_present(0x10));
    assert_false(pci_is_present(0x18));
    assert_int_equal(pci_rescan(), RESULT_OK); /* nothing has come */
    assert_null(known->next);
    second = fake_add(NULL, 3, 0, NIC);
    pci_model_bar(&second->pci, 1, 0x4000, 0);
    assert_true(pci_is_present(0x18));
    assert_int_equal(pci_rescan(), RESULT_OK);
    assert_ptr_equal(pci_first(), known);
    assert_int_equal(known->bar[1].address, address);
    assert_int_not_equal(pci_config_read(known, PCI_COMMAND, 2) & PCI_COMMAND_MASTER, 0);
    assert_non_null(known->next);
    assert_int_equal(known->next->device, 3);
    assert_int_not_equal(known->next->bar[1].address, 0);
    assert_int_not_equal(known->next->bar[1].address, address);
    assert_null(known->next->next);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        PCI_TEST(test_restore),
        PCI_TEST(test_rescan),
    };

    return pci_fixture_load(count, arguments)
               ? cmocka_run_group_tests_name("pci_restore", tests, NULL, pci_fixture_free)
               : 2;
}
