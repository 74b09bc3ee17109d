/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases.h"

const struct device_case *const device_cases[] = {traffic_cases, NULL};
