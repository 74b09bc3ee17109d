/* SPDX-License-Identifier: BSD-2-Clause */
/* The limit of a VCPU's memory bandwidth, in the VCPU's page. The monitor of the VCPU alone
 * accesses it, and the tools read it from outside of the machine. */
#ifndef BANDWIDTH_STATE_H
#define BANDWIDTH_STATE_H

#include "bandwidth/window.h"
#include <stdbool.h>
#include <stdint.h>

/* Since the start of the machine. */
struct bandwidth_report {
    uint64_t windows; /* windows that have ended */
    uint64_t events;  /* events in these windows */
    uint64_t most;    /* largest number of events in one of them */
    uint64_t spent;   /* windows in which the VCPU was parked */
    uint64_t parked;  /* ticks of CNTPCT_EL0 for which it was parked */
};

struct vcpu_bandwidth {
    struct bandwidth_limits limits; /* `ticks` is 0: there is no limit */
    struct bandwidth_window window;
    struct bandwidth_report report;
    bool was_parked; /* in this life of its guest, which the terminal has said */
};

#endif
