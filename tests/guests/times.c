/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks physical, virtual and stolen time of a partition that shares its core. Prints the virtual
 * time at the end. With the boot argument `exact=yes`, for a machine that counts instructions, it
 * also checks how they begin and grow. With `write=yes` it writes to the page that has them
 * instead.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/virtual_time.h"
#include "machine/machine.h"
#include "run_checks.h"
#include <arch/cpu.h>
#include <arch/hypercalls.h>
#include <arch/mmu.h>
#include <arch/vcpu_times.h>
#include <string.h>

#define SPIN        (50 * NANOSECONDS_PER_MILLISECOND)
#define SLEEP       (50 * NANOSECONDS_PER_MILLISECOND)
#define STOLEN_MAX  (15 * NANOSECONDS_PER_MILLISECOND) /* of SLEEP: less than two periods */
#define EXECUTE_MAX (2 * NANOSECONDS_PER_MILLISECOND)  /* of SLEEP */
#define PIECES      20 /* of a budget, in SPIN, at most: 4 ms in 10 ms */
#define CHANGES     (3 * NANOSECONDS_PER_MICROSECOND) /* to the VCPU and from it, which it pays */

static const struct vcpu_stolen_time *stolen_time;

struct times {
    uint64_t physical, virtual, stolen; /* nanoseconds */
};

/* Reads the three times without an interruption by another partition between them. */
static struct times read_times(void)
{
    struct times times;

    do {
        times.stolen = __atomic_load_n(&stolen_time->nanoseconds, __ATOMIC_ACQUIRE);
        times.virtual = virtual_time_now();
        times.physical = time_now();
    } while (__atomic_load_n(&stolen_time->nanoseconds, __ATOMIC_ACQUIRE) != times.stolen);
    return times;
}

static bool check_calls(void)
{
    uint64_t address = machine_call(CALL_PV_TIME_ST);

    CHECK(machine_call(CALL_HYPERVISOR_UID) == 0xa9cd1a95);
    CHECK(virtual_time_init() == RESULT_OK);
    CHECK((int64_t)address > 0 && address % sizeof(*stolen_time) == 0);
    CHECK(arch_mmu_map_constants(address, sizeof(*stolen_time)) == RESULT_OK);
    stolen_time = (const struct vcpu_stolen_time *)(uintptr_t)address;
    CHECK(stolen_time->revision == 0 && stolen_time->attributes == 0);
    return true;
}

/* Nothing was stolen before the guest's first instruction, in particular before a restart. Where
 * time is the host's, a guest may lose its core before that: the host may pause the machine, and
 * the guest is charged for the pause. */
static bool check_start(void)
{
    struct times now = read_times();

    CHECK(now.stolen <= now.physical);
    return true;
}

static bool check_spin(void)
{
    struct times before = read_times(), after;
    uint64_t away;

    while (time_now() - before.physical < SPIN) {
    }
    after = read_times();
    away = (after.physical - before.physical) - (after.virtual - before.virtual);
    CHECK(after.virtual > before.virtual && away > SPIN / 4);
    /* A few ticks pass between reading one time and reading the next. */
    CHECK(after.stolen - before.stolen <= away + NANOSECONDS_PER_MICROSECOND);
    CHECK(after.stolen - before.stolen + PIECES * CHANGES >= away);
    return true;
}

static bool check_sleep(void)
{
    struct times before = read_times(), after;

    thread_sleep_until(time_after(SLEEP));
    after = read_times();
    CHECK(after.stolen - before.stolen < STOLEN_MAX);
    CHECK(after.virtual - before.virtual < EXECUTE_MAX);
    return true;
}

static int write_to_page(void)
{
    uint64_t address = machine_call(CALL_PV_TIME_ST);
    void *page = (void *)(uintptr_t)(address & ~(uint64_t)(PAGE_BYTES - 1));

    /* The kernel has mapped it read-only. */
    if (arch_mmu_unmap(page, PAGE_BYTES) == RESULT_OK &&
        arch_mmu_remap(page, PAGE_BYTES) == RESULT_OK) {
        *(volatile uint64_t *)(uintptr_t)(address + 8) = 0;
    }
    print("FAIL: the write has raised no abort\n");
    return 1;
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"calls", check_calls},
        {"start", check_start},
        {"spin", check_spin},
        {"sleep", check_sleep},
    };
    char write[8], exact[8];
    unsigned count = boot_argument("exact", exact, sizeof(exact)) ? 4 : 1;
    int status =
        boot_argument("write", write, sizeof(write)) ? write_to_page() : run_checks(checks, count);

    print("virtual %lu.\n", (unsigned long)virtual_time_now());
    if (status != 0) {
        return status;
    }
    for (;;) {
        thread_sleep_until(time_after(NANOSECONDS_PER_SECOND));
    }
}
