/* SPDX-License-Identifier: BSD-2-Clause */
/* The cases: what is done with a station. Each table ends with an entry without a name. */
#ifndef TESTS_DEVICE_CASES_H
#define TESTS_DEVICE_CASES_H

#include "station.h"

struct device_case {
    const char *name;
    /* The station is open, no driver runs; afterwards one runs. */
    void (*run)(struct station *station);
};

extern const struct device_case control_cases[];
extern const struct device_case offload_cases[];
extern const struct device_case pairs_cases[];
extern const struct device_case recovery_cases[];
extern const struct device_case reset_cases[];
extern const struct device_case start_cases[];
extern const struct device_case traffic_cases[];

#endif
