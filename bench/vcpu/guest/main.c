/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of ./bulkhead bench vcpu. Boot arguments:
 * case=wake_ups|shares|decisions|switches|attacks|input, and for these periods=N,
 * sets=NAME:C/T+C/T...,NAME:... (microseconds), attacks=NAME/COUNT/C/T/SLEEP,..., milliseconds=N,
 * percent=N.
 *
 * In the bench's machine the counter counts instructions.
 */
#include "vcpu_bench.h"

#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/panic.h"
#include "kernel/print.h"
#include <stdbool.h>
#include <string.h>

#define SETS_BYTES 1024u

static bool runs(const char *name)
{
    char chosen[16];

    return boot_argument("case", chosen, sizeof(chosen)) && strcmp(chosen, name) == 0;
}

_Noreturn void fail(const char *what)
{
    print("vcpu: failed: %s\n", what);
    panic("%s", what);
}

int application_main(void)
{
    static char sets[SETS_BYTES];
    uint64_t milliseconds = boot_argument_number("milliseconds", 1000, 1, 1000000);

    (void)boot_argument("sets", sets, sizeof(sets));
    if (runs("wake_ups")) {
        measure_wake_ups();
    } else if (runs("shares")) {
        measure_shares(sets, milliseconds);
    } else if (runs("decisions")) {
        measure_decisions(sets, milliseconds);
    } else if (runs("switches")) {
        measure_switches();
    } else if (runs("attacks")) {
        (void)boot_argument("attacks", sets, sizeof(sets));
        measure_attacks(sets, milliseconds);
    } else if (runs("input")) {
        measure_input((unsigned)boot_argument_number("percent", 100, 1, 100), milliseconds);
    } else {
        fail("no such case");
    }
    print("vcpu: end\n");
    return 0;
}
