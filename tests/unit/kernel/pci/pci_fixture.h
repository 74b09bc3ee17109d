/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fixture of the tests of kernel/pci. Argument 1 of each program is virt.dtb of
 * tests/unit/kernel/devicetree: windows of 0x2eff0000 bytes at 0x10000000 and of 512 GiB at 512
 * GiB.
 */
#ifndef PCI_FIXTURE_H
#define PCI_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_pci.h"
#include "pci/pci_private.h"
#include <devices/pci_registers.h>

#define NIC          0x10D38086u
#define MIB          UINT64_C(0x100000)
#define GIB          UINT64_C(0x40000000)
#define PREFETCHABLE (PCI_BAR_TYPE_64 | PCI_BAR_PREFETCHABLE)

/* A test that starts with a machine without devices. */
#define PCI_TEST(function) cmocka_unit_test_setup(function, pci_fixture_reset)
int pci_fixture_reset(void **state);

/* An interrupt handler that does nothing. */
void pci_fixture_handler(void *argument);

/* Loads the devicetree for main(). Returns false if there is none or it can't be used. */
bool pci_fixture_load(int count, char **arguments);
/* Teardown of the group of tests. */
int pci_fixture_free(void **state);

#endif
