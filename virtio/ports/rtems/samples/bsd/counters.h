/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's counters as text. */
#ifndef VIRTIO_RTEMS_COUNTERS_H
#define VIRTIO_RTEMS_COUNTERS_H

#include "virtio/net.h"
#include <stdio.h>

/* One line "name value" for each, the names those of struct virtio_net_statistics. Thread context.
 */
void counters_print(const struct virtio_net_statistics *statistics, FILE *stream);

#endif
