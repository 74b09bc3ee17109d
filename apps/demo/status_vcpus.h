/* SPDX-License-Identifier: BSD-2-Clause */
/* The VCPUs as JSON. */
#ifndef DEMO_STATUS_VCPUS_H
#define DEMO_STATUS_VCPUS_H

#include "json.h"

/* The greatest length of what status_write_vcpus() writes. */
#define STATUS_VCPUS_BYTES 8192u

/* Writes the number of VCPUs, the time for which no VCPU has paid, and the statistics of the first
 * 16 VCPUs, as members of an object. Times are nanoseconds. Thread context. */
void status_write_vcpus(struct json *json);

#endif
