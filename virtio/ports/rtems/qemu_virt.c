/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU's "virt": addresses as in the devicetree it makes. Interrupt numbers are the GIC's: 32 more
 * than the tree's SPIs. */
#include "board.h"

#define SPI(number) (32 + (number))

const struct virtio_rtems_board virtio_rtems_qemu_virt = {
    .mmio = {.address = 0x0A000000, .bytes = 0x200, .count = 32, .first_vector = SPI(16)},
    .pci = {.configuration = UINT64_C(0x4010000000),
            .buses = 256,
            .memory = 0x10000000,
            .memory_bytes = 0x2EFF0000,
            .first_vector = SPI(3)},
};
