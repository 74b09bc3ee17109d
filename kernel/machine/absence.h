/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of the hypervisor from which virtual time is computed. */
#ifndef MACHINE_ABSENCE_H
#define MACHINE_ABSENCE_H

#include <arch/vcpu_times.h>

/* Returns for how long the processor has executed other guests. After virtual_time_init() has
 * returned RESULT_OK. Any context. */
const struct vcpu_absence *virtual_time_absence(void);

#endif
