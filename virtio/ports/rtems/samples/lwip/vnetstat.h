/* SPDX-License-Identifier: BSD-2-Clause */
/* The command `vnetstat` of RTEMS's shell, which prints the counters of the driver and of its lwIP
 * port. */
#ifndef SAMPLE_VNETSTAT_H
#define SAMPLE_VNETSTAT_H

#include <stdbool.h>

struct virtio_netif;

/* Adds the command for this interface; NULL: there is no interface. Returns false if RTEMS refuses
 * the command. Task context. */
bool vnetstat_add(struct virtio_netif *interface);

#endif
