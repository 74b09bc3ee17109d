/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor's own random numbers. */
#ifndef ARCH_RANDOM_H
#define ARCH_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* Writes 64 random bits to *value. Returns false if the processor has no source of them, or its
 * source delivers none now. Any context. */
bool arch_random(uint64_t *value);

#endif
