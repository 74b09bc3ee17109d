/* SPDX-License-Identifier: BSD-2-Clause */
/* The cases, which act on a station. The last entry of each table has no name. */
#ifndef TESTS_DEVICE_CASES_H
#define TESTS_DEVICE_CASES_H

#include "station.h"

struct device_case {
    const char *name;
    /* Before the case the station is open and no driver runs; after it a driver runs. */
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
