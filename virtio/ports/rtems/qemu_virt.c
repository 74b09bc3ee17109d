/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU's "virt" for AArch64 and Arm: addresses as in the devicetree that QEMU generates. Interrupt
 * numbers are the GIC's INTIDs, which are the devicetree's SPI numbers + 32. Programs with 32-bit
 * pointers can access PCI only with -M virt,highmem=off. */
#include "board.h"

#define SPI(number) (32 + (number))

#define WIDE (UINTPTR_MAX > UINT32_MAX)

const struct virtio_rtems_board virtio_rtems_qemu_virt = {
    .mmio = {{.address = 0x0A000000, .bytes = 0x200, .count = 32, .first_vector = SPI(16)}},
    .pci = {.configuration = WIDE ? UINT64_C(0x4010000000) : 0x3F000000,
            .buses = WIDE ? 256 : 16,
            .memory = 0x10000000,
            .memory_bytes = 0x2EFF0000,
            .first_vector = SPI(3)},
};
