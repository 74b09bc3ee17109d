/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface between a program and its steps. */
#ifndef TESTS_HOSTILE_STEPS_H
#define TESTS_HOSTILE_STEPS_H

#include "hostile.h"

struct settings {
    enum bus bus;
    bool legacy;
    uint16_t vectors;
    uint64_t offered;
    struct virtio_net_parameters parameters;
    uint16_t mtu; /* the device's */
    uint16_t queue_size_max;
};

extern struct settings settings;

struct step {
    const char *name;
    void (*run)(uint8_t a, uint8_t b, uint8_t c);
    bool without_driver; /* the step also makes sense without a driver */
};

/* Returns the step of a number; every number is valid. */
const struct step *step_of(uint8_t what);
/* Resets the device to the program's settings. */
void step_power_on(void);
/* Stops the driver if there is one, and creates it again. `honest`: the device is honest again
 * first. `allocations`: number of allocations that succeed. */
void step_restart(bool honest, unsigned allocations, uint32_t capacity);

#endif
