/* SPDX-License-Identifier: BSD-2-Clause */
/* Processors without partitions. */
#include "sample_board.h"

const struct virtio_rtems_board *sample_board(void)
{
    return &virtio_rtems_qemu_virt;
}
