/* SPDX-License-Identifier: BSD-2-Clause */
/* The board that a sample executes on: QEMU's machine, or the part of it that a partition has. One
 * of sample_board_*.c is linked. */
#ifndef VIRTIO_RTEMS_SAMPLE_BOARD_H
#define VIRTIO_RTEMS_SAMPLE_BOARD_H

#include "board.h"

/* Returns the board. Task context, called by one task. */
const struct virtio_rtems_board *sample_board(void);

#endif
