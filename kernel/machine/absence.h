/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of the hypervisor from which virtual time is computed. */
#ifndef MACHINE_ABSENCE_H
#define MACHINE_ABSENCE_H

#include <arch/vcpu_times.h>

/* Returns for how long the processor has executed other guests, after virtual_time_init(); NULL if
 * that has not returned RESULT_OK. Thread context. */
const struct vcpu_absence *virtual_time_absence(void);

#endif
