/* SPDX-License-Identifier: BSD-2-Clause */
#include "watchdog/heartbeat.h"

/* Sets the time of the next look: a period from now, or when the first beat is overdue. */
static void set_next(struct heartbeat *heartbeat, uint64_t period, uint64_t now)
{
    heartbeat->next = now + period;
    if (heartbeat->start != 0 && heartbeat->start < heartbeat->next) {
        heartbeat->next = heartbeat->start;
    }
}

void heartbeat_begin(struct heartbeat *heartbeat, const struct heartbeat_limits *limits,
                     uint64_t beats, uint64_t now)
{
    *heartbeat = (struct heartbeat){
        .beats = beats,
        .start = limits->start != 0 ? now + limits->start : 0,
    };
    set_next(heartbeat, limits->period, now);
}

bool heartbeat_look(struct heartbeat *heartbeat, const struct heartbeat_limits *limits,
                    uint64_t beats, uint64_t now)
{
    bool has_beaten = beats != heartbeat->beats;
    bool has_failed;

    if (heartbeat->next == 0 || now < heartbeat->next) {
        return false;
    }
    has_failed = !has_beaten &&
                 (heartbeat->is_armed != 0 || (heartbeat->start != 0 && now >= heartbeat->start));
    heartbeat->beats = beats;
    if (has_beaten || has_failed) {
        heartbeat->is_armed = has_beaten;
        heartbeat->start = 0;
    }
    set_next(heartbeat, limits->period, now);
    return has_failed;
}
