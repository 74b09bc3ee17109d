/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/virtual_time.h"

#include "machine/absence.h"
#include "machine/machine.h"
#include "time/clock.h"
#include <arch/cpu.h>
#include <arch/hypercalls.h>
#include <arch/mmu.h>
#include <arch/vcpu_times.h>
#include <stddef.h>

/* The absence of a processor that always executes: 0 ticks. */
static const struct vcpu_absence always_present;
static const struct vcpu_absence *shown = &always_present;

const struct vcpu_absence *virtual_time_absence(void)
{
    return shown;
}

enum result virtual_time_init(void)
{
    uint64_t address;
    enum result result;

    if (shown != &always_present) {
        return RESULT_OK;
    }
    address = machine_call(CALL_HYPERVISOR_TIMES);
    if ((uint32_t)address == UINT32_MAX) { /* NOT_SUPPORTED; some firmware returns only 32 bits */
        return RESULT_UNSUPPORTED;
    }
    result = arch_mmu_map_constants(address, sizeof(*shown));
    if (result == RESULT_OK) {
        shown = (const struct vcpu_absence *)(uintptr_t)address;
    }
    return result == RESULT_NO_MEMORY || result == RESULT_OK ? result : RESULT_UNSUPPORTED;
}

uint64_t virtual_time_now(void)
{
    uint64_t absence = __atomic_load_n(&shown->ticks, __ATOMIC_RELAXED);
    uint64_t counter, before;

    do { /* again, if others have executed between the two */
        before = absence;
        counter = arch_clock_ticks();
        absence = __atomic_load_n(&shown->ticks, __ATOMIC_RELAXED);
    } while (absence != before);
    return clock_nanoseconds(counter - absence);
}
