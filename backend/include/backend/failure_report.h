/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits how often a program reports that the driver of a client has broken a rule. A malicious
 * driver resets its device and breaks the rule again all the time. Each report would take the
 * program's time from the other clients, and hide what else it says.
 *
 * Times are nanoseconds of a monotonic clock. The caller serialises all calls for one client. Any
 * context.
 */
#ifndef BACKEND_FAILURE_REPORT_H
#define BACKEND_FAILURE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#define FAILURE_REPORT_INTERVAL_NS (10 * UINT64_C(1000000000))

/* Of a client. All zero at first. The members are private to page/. */
struct failure_report {
    uint64_t last; /* time of the last report */
    uint64_t left_out;
    bool has_reported;
};

/* Counts a failure. Returns true if the program reports it: the first one, and one that is at least
 * FAILURE_REPORT_INTERVAL_NS behind the last report. *left_out: failures since that report which
 * were not reported. */
bool failure_report_is_due(struct failure_report *report, uint64_t now, uint64_t *left_out);

#endif
