/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU's "virt" for RISC-V: addresses as in the devicetree that QEMU generates. RTEMS's vector
 * numbers are the PLIC's interrupt numbers + 2. */
#include "board.h"

#define EXTERNAL(number) (2 + (number))

const struct virtio_rtems_board virtio_rtems_qemu_virt = {
    .mmio = {{.address = 0x10001000, .bytes = 0x1000, .count = 8, .first_vector = EXTERNAL(1)}},
    .pci = {.configuration = 0x30000000,
            .buses = 256,
            .memory = 0x40000000,
            .memory_bytes = 0x40000000,
            .first_vector = EXTERNAL(32)},
};
