/* SPDX-License-Identifier: BSD-2-Clause */
/* Nanoseconds since boot. */
#include "time/clock.h"

#include "kernel/time.h"
#include "time/clock_conversion.h"
#include <arch/cpu.h>

static struct {
    uint64_t start;
    uint64_t frequency;
} boot_clock;

void clock_init(uint64_t start)
{
    boot_clock.start = start;
    boot_clock.frequency = arch_clock_frequency();
}

uint64_t clock_time(uint64_t counter)
{
    return clock_ticks_to_nanoseconds(counter - boot_clock.start, boot_clock.frequency);
}

uint64_t time_now(void)
{
    return clock_time(arch_clock_ticks());
}

uint64_t time_after(uint64_t nanoseconds)
{
    uint64_t deadline;

    if (__builtin_add_overflow(time_now(), nanoseconds, &deadline) || deadline == DEADLINE_NONE) {
        return DEADLINE_NONE - 1;
    }
    return deadline;
}

uint64_t clock_nanoseconds(uint64_t ticks)
{
    return clock_ticks_to_nanoseconds(ticks, boot_clock.frequency);
}

uint64_t clock_ticks_up(uint64_t nanoseconds)
{
    return clock_nanoseconds_to_ticks(nanoseconds, boot_clock.frequency);
}

uint64_t clock_ticks_down(uint64_t nanoseconds)
{
    return clock_nanoseconds_to_whole_ticks(nanoseconds, boot_clock.frequency);
}

uint64_t clock_alarm_ticks(uint64_t deadline)
{
    uint64_t ticks = clock_nanoseconds_to_ticks(deadline, boot_clock.frequency);

    return __builtin_add_overflow(ticks, boot_clock.start, &ticks) ? UINT64_MAX : ticks;
}
