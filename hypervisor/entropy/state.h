/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a generator of random numbers (entropy/generator.h). */
#ifndef ENTROPY_STATE_H
#define ENTROPY_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define GENERATOR_WORDS 8u /* 256 bits */

struct generator {
    uint32_t key[GENERATOR_WORDS];
    bool is_seeded; /* nobody can guess the key; false: the machine has no source of entropy */
};

#endif
