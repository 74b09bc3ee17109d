/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/failure_report.h"

bool failure_report_is_due(struct failure_report *report, uint64_t now, uint64_t *left_out)
{
    if (report->has_reported && now - report->last < FAILURE_REPORT_INTERVAL_NS) {
        report->left_out++;
        return false;
    }
    *left_out = report->left_out;
    *report = (struct failure_report){.last = now, .has_reported = true};
    return true;
}
