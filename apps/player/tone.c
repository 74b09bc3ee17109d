/* SPDX-License-Identifier: BSD-2-Clause */
#include "tone.h"

#include <math.h>

#define AMPLITUDE 8000.0 /* of 32767 */

void tone_begin(struct tone *tone, unsigned hertz, unsigned rate)
{
    double step = 2.0 * M_PI * hertz / rate;

    *tone = (struct tone){.cosine = cos(step), .sine = sin(step), .real = 1.0};
}

void tone_write(struct tone *tone, int16_t *samples, unsigned frames)
{
    double length;

    for (unsigned frame = 0; frame < frames; frame++) {
        double real = tone->real * tone->cosine - tone->imaginary * tone->sine;

        tone->imaginary = tone->real * tone->sine + tone->imaginary * tone->cosine;
        tone->real = real;
        samples[2 * frame] = (int16_t)(AMPLITUDE * tone->imaginary);
        samples[2 * frame + 1] = samples[2 * frame];
    }
    length = hypot(tone->real, tone->imaginary); /* 1, but for rounding */
    tone->real /= length;
    tone->imaginary /= length;
}
