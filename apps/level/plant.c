/* SPDX-License-Identifier: BSD-2-Clause */
#include "plant.h"

#define AREA       2.5e-3 /* of the tank's ground, in square metres */
#define PUMP_FLOW  3e-4   /* the greatest, in cubic metres a second */
#define OUTLET     3.5e-4 /* outflow in cubic metres a second for each metre of level */
#define PUMP_DELAY 0.2    /* time constant of the pump, in seconds */
#define NOISE_SEED 1u

void plant_init(struct plant *plant)
{
    *plant = (struct plant){.noise = NOISE_SEED};
}

static double clamp(double value, double maximum)
{
    if (value < 0) {
        return 0;
    }
    return value > maximum ? maximum : value;
}

void plant_advance(struct plant *plant, double command, double seconds)
{
    double change;

    plant->flow += (clamp(command, 1) - plant->flow) * seconds / PUMP_DELAY;
    change = (plant->flow * PUMP_FLOW - plant->level * OUTLET) / AREA;
    plant->level = clamp(plant->level + change * seconds, PLANT_HEIGHT);
}

/* Returns a number from -0.5 to 0.5, of a linear congruential generator (Knuth, The Art of Computer
 * Programming 2, 3.3.4, table 1, line 16). */
static double next_noise(struct plant *plant)
{
    plant->noise = plant->noise * 1664525u + 1013904223u;
    return (double)plant->noise / UINT32_MAX - 0.5;
}

double plant_measure(struct plant *plant)
{
    /* The sum of two has a triangular distribution, which is closer to that of a sensor. */
    double noise = next_noise(plant) + next_noise(plant);

    return plant->level + PLANT_NOISE * noise;
}
