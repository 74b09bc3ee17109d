/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A control loop of 1 kHz with a pattern in memory. After `beats` periods (boot argument; with 0
 * when a key is pressed) it prints the greatest lateness of a period and whether the memory still
 * holds the pattern. It prints nothing before that. It fails if it received an interrupt of another
 * owner.
 *
 * The CPU interface reports no interrupt (INTID 1023) while the most urgent pending one is of Group
 * 0 (Arm IHI 0069, ICC_IAR1_EL1). The hypervisor calls a core by such an interrupt, for instance
 * for each key that is typed. If the call comes between an interrupt's exception and its
 * acknowledge, the guest finds no interrupt at first. So a few of these are nobody's attack.
 */
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "periods.h"

#define BEATS        3000u
#define WORDS        (((size_t)1 << 20) / sizeof(uint64_t))
#define PERIOD       NANOSECONDS_PER_MILLISECOND
#define SPURIOUS_MAX 8u

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

static bool is_over(uint64_t beat, uint64_t beats)
{
    char key;

    return beats != 0 ? beat == beats : console_read(&key, DEADLINE_POLL) == RESULT_OK;
}

static bool foreign_interrupts(const struct interrupt_statistics *before)
{
    struct interrupt_statistics now;

    interrupt_statistics(&now);
    return now.unknown != before->unknown || now.spurious - before->spurious > SPURIOUS_MAX;
}

int application_main(void)
{
    uint64_t beats = boot_argument_number("beats", BEATS, 0, UINT32_MAX);
    uint64_t *memory = heap_allocate(WORDS * sizeof(*memory));
    struct interrupt_statistics before;
    struct periods periods;
    uint64_t worst;

    if (memory == NULL) {
        print("FAIL: beat: no memory\n");
        return 1;
    }
    for (size_t i = 0; i < WORDS; i++) {
        memory[i] = pattern(i);
    }
    print("beat: begins\n");
    interrupt_statistics(&before);
    periods_begin(&periods, PERIOD);
    while (!is_over(periods.count, beats)) {
        periods_wait(&periods);
    }
    if (!is_intact(memory)) {
        return 1;
    }
    if (foreign_interrupts(&before)) {
        print("FAIL: beat: interrupts of others\n");
        return 1;
    }
    worst = periods.worst > periods.worst_asleep ? periods.worst : periods.worst_asleep;
    print("beat: %lu beats, the latest by %lu us, memory intact\n", (unsigned long)periods.count,
          (unsigned long)(worst / NANOSECONDS_PER_MICROSECOND));
    return 0;
}
