/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest that writes anything anywhere into the interrupt controller. */
#ifndef HYPERVISOR_TEST_TRAFFIC_H
#define HYPERVISOR_TEST_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_STEP_BYTES 12u

/* Makes of each TRAFFIC_STEP_BYTES an access of the first partition's, to two machines that differ
 * in everything that is others'. Ends the program if the guest gets to see a difference, or reaches
 * what machine.h guards. */
void traffic_run(const uint8_t *data, size_t bytes);

#endif
