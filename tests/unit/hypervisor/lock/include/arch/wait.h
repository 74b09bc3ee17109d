/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ARCH_WAIT_H
#define ARCH_WAIT_H

/* The test lets another core execute. */
void arch_yield(void);

#endif
