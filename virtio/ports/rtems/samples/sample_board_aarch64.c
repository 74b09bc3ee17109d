/* SPDX-License-Identifier: BSD-2-Clause */
/* AArch64: a partition of Bulkhead has a devicetree, a program on the bare machine has none. */
#include "sample_board.h"
#include <channel/rtems.h>

const struct virtio_rtems_board *sample_board(void)
{
    static struct virtio_rtems_board board;
    const void *tree = partition_devicetree();

    board = virtio_rtems_qemu_virt;
    if (tree != NULL) {
        virtio_rtems_read_devicetree(tree, &board);
    }
    return &board;
}
