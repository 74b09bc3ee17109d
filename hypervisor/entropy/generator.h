/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A generator of random numbers: ChaCha20 with a key that each use replaces (D. J. Bernstein,
 * "Fast-key-erasure random-number generators", 2017). The first half of a block is the next key,
 * the second half is the output. So neither an output nor a later key tells an earlier output
 * (docs/decisions/0070).
 *
 * A generator has one user at a time: the callers' generators are those of a VCPU, or of a
 * partition's boot VCPU.
 */
#ifndef HYPERVISOR_GENERATOR_H
#define HYPERVISOR_GENERATOR_H

#include "entropy/state.h"

/* Writes the next 256 bits. */
void generator_take(struct generator *generator, uint32_t output[GENERATOR_WORDS]);

/* Makes the next key depend on 256 bits of input, too. Whoever knows only the key or only the input
 * does not know the next key. */
void generator_mix(struct generator *generator, const uint32_t input[GENERATOR_WORDS]);

/* Seeds `child` by the next output of `parent`. */
void generator_derive(struct generator *parent, struct generator *child);

/* Overwrites words with 0, which the compiler does not leave out. */
void generator_wipe(uint32_t *words, unsigned count);

#endif
