/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A control loop of 1 kHz, and a memory that nobody else may touch: after so many beats (`beats`)
 * it says how late the latest was and whether the memory is as it was. Silent in between.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "periods.h"

#define BEATS  3000u
#define WORDS  (((size_t)1 << 20) / sizeof(uint64_t))
#define PERIOD NANOSECONDS_PER_MILLISECOND

static uint64_t pattern(size_t word)
{
    return (word + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static bool is_intact(const uint64_t *memory)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (memory[i] != pattern(i)) {
            print("FAIL: beat: word %lu at %lx is %lx\n", (unsigned long)i,
                  (unsigned long)(uintptr_t)&memory[i], (unsigned long)memory[i]);
            return false;
        }
    }
    return true;
}

int application_main(void)
{
    uint64_t beats = boot_argument_number("beats", BEATS, 1, UINT32_MAX);
    uint64_t *memory = heap_allocate(WORDS * sizeof(*memory));
    struct periods periods;

    if (memory == NULL) {
        print("FAIL: beat: no memory\n");
        return 1;
    }
    for (size_t i = 0; i < WORDS; i++) {
        memory[i] = pattern(i);
    }
    print("beat: begins\n");
    periods_begin(&periods, PERIOD);
    while (periods.count < beats) {
        periods_wait(&periods);
    }
    if (!is_intact(memory)) {
        return 1;
    }
    print("beat: %lu beats, the latest by %lu us, memory intact\n", (unsigned long)beats,
          (unsigned long)(periods.worst / NANOSECONDS_PER_MICROSECOND));
    return 0;
}
