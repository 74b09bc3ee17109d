/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to a channel's function that the hypervisor refuses: each ends the process that makes
 * it, and nothing else. */
#ifndef LINUX_CHANNEL_WILD_H
#define LINUX_CHANNEL_WILD_H

#include <stdint.h>

/* Makes each access in a child, and prints which signal has ended it. `registers`: BAR 0. `states`:
 * the state page, `section`: the other end's section. */
void wild_access(volatile uint32_t *registers, volatile uint32_t *states, volatile void *section);

#endif
