/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the driver's counters. */
#ifndef VIRTIO_RTEMS_COUNTERS_H
#define VIRTIO_RTEMS_COUNTERS_H

#include "virtio/net.h"
#include <stdio.h>

/* Prints a line "NAME VALUE" for each counter. NAME is the member's name in struct
 * virtio_net_statistics. Thread context. */
void counters_print(const struct virtio_net_statistics *statistics, FILE *stream);

#endif
