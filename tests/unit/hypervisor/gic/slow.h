/* SPDX-License-Identifier: BSD-2-Clause */
/* The polls of RWP that a wait of the hypervisor may do (docs/waits.md), for test_slow.c and
 * test_neighbour.c. */
#ifndef HYPERVISOR_TEST_SLOW_H
#define HYPERVISOR_TEST_SLOW_H

#define SLOW_POLLS       1000u /* of a wait at most. A wait in a change has one more */
#define SLOW_POLLS_STUCK 32u   /* at most, after a wait in vain */
#define SLOW_FOREVER     UINT32_MAX

/* Reads of a register for which RWP is set. */
static const unsigned slow_cases[] = {0, 1, 2, 998, 999, 1000, 1001, 5000, SLOW_FOREVER};
#define SLOW_CASES (sizeof(slow_cases) / sizeof(slow_cases[0]))

#endif
