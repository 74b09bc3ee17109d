/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulated water tank, with a pump that fills it, an open outlet, and a noisy level sensor. The
 * same commands always give the same levels. */
#ifndef LEVEL_PLANT_H
#define LEVEL_PLANT_H

#include <stdint.h>

#define PLANT_HEIGHT 0.5   /* metres; more water flows over */
#define PLANT_NOISE  0.001 /* metres: the greatest error of a measurement */

struct plant {
    double level; /* metres */
    double flow;  /* of the pump, as a part of its greatest flow: it follows the command slowly */
    uint32_t noise;
};

/* Begins with an empty tank and a pump that is off. */
void plant_init(struct plant *plant);

/* Advances the time by `seconds`, small against the plant's time constants (0.2 s). `command`: from
 * 0, the pump is off, to 1. */
void plant_advance(struct plant *plant, double command, double seconds);

/* Returns the level that the sensor measures, in metres. */
double plant_measure(struct plant *plant);

#endif
