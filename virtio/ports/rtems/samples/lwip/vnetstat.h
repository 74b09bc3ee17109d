/* SPDX-License-Identifier: BSD-2-Clause */
/* The command `vnetstat` of RTEMS's shell: what driver and port count. */
#ifndef SAMPLE_VNETSTAT_H
#define SAMPLE_VNETSTAT_H

#include <stdbool.h>

struct virtio_netif;

/* Of this interface; NULL: there is none. False: RTEMS refused it. Task context. */
bool vnetstat_add(struct virtio_netif *interface);

#endif
