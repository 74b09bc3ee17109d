/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest that writes arbitrary values to arbitrary registers of the interrupt controller. */
#ifndef HYPERVISOR_TEST_TRAFFIC_H
#define HYPERVISOR_TEST_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_STEP_BYTES 12u

/* Turns each TRAFFIC_STEP_BYTES into an access of the first partition on two machines, which differ
 * in all state of others. Ends the program if the guest sees a difference or changes state that
 * machine.h guards. */
void traffic_run(const uint8_t *data, size_t bytes);

#endif
