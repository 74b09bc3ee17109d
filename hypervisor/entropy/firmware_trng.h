/* SPDX-License-Identifier: BSD-2-Clause */
/* The firmware's TRNG (Arm DEN0098, 1.0), as a source of entropy at boot. */
#ifndef ENTROPY_FIRMWARE_TRNG_H
#define ENTROPY_FIRMWARE_TRNG_H

#include "entropy/state.h"

/* Reads 256 random bits, 64 in a call, with a thousand calls at most. Returns the number of bits
 * that the firmware gave: 0 if it has no TRNG. The words of the others are unchanged. Boot core. */
uint32_t firmware_trng_read(uint32_t words[GENERATOR_WORDS]);

#endif
