/* SPDX-License-Identifier: BSD-2-Clause */
/* A sine of constant amplitude. */
#pragma once

#include <stdint.h>

struct tone {
    double cosine, sine; /* of the phase's step from a sample to the next */
    double real, imaginary;
};

/* Begins a tone of `hertz`, at `rate` samples a second. */
void tone_begin(struct tone *tone, unsigned hertz, unsigned rate);

/* Writes `frames` frames of two channels with the same samples. */
void tone_write(struct tone *tone, int16_t *samples, unsigned frames);
