/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The victim's instructions do not depend on time, so a run makes the same accesses whatever the
 * neighbours do: interrupts are masked, and a timer that has expired ends WFI or lets it pass.
 */
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "roles.h"
#include <arch/cpu.h>

#define ROWS          128u /* the matrix has 64 KiB: twice a first-level cache */
#define WARM_UPS      2u
#define SUM_SHIFT     12u
#define VALUE_SHIFT   24u
#define AFTER_MAX     UINT64_C(10000)
#define PERIODS       UINT64_C(20)
#define PERIODS_MAX   UINT64_C(10000)
#define PERIOD_US     UINT64_C(500)
#define PERIOD_US_MIN UINT64_C(10)
#define PERIOD_US_MAX UINT64_C(100000)

static uint32_t matrix[ROWS][ROWS], state[ROWS], next_state[ROWS];

/* Instructions for the model of the memory system (tools/memory_model/instructions.h), which the
 * processor executes as NOP. */
static void begin_counts(void)
{
    __asm__ volatile("hint #126" : : : "memory");
}

static void end_counts(void)
{
    __asm__ volatile("hint #127" : : : "memory");
}

/* Values of no importance, which the compiler does not know. */
static void make_matrix(void)
{
    uint32_t value = (uint32_t)arch_clock_frequency();

    for (uint32_t row = 0; row < ROWS; row++) {
        state[row] = row;
        for (uint32_t column = 0; column < ROWS; column++) {
            value = value * 1664525u + 1013904223u;
            matrix[row][column] = value >> VALUE_SHIFT;
        }
    }
}

static void step(void)
{
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t sum = 0;

        for (uint32_t column = 0; column < ROWS; column++) {
            sum += matrix[row][column] * state[column];
        }
        next_state[row] = sum >> SUM_SHIFT;
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        state[row] = next_state[row];
    }
}

/* Waits until the counter has reached a value, with interrupts masked. */
static void wait_until(uint64_t ticks)
{
    arch_clock_alarm(ticks);
    arch_wait_for_interrupt();
    arch_clock_alarm(UINT64_MAX);
}

void be_victim(void)
{
    uint64_t ticks_per_us = arch_clock_frequency() / 1000000u;
    uint64_t after = boot_argument_number("after", 0, 0, AFTER_MAX) * 1000u;
    uint64_t period = boot_argument_number("period", PERIOD_US, PERIOD_US_MIN, PERIOD_US_MAX);
    uint64_t periods = boot_argument_number("periods", PERIODS, 1, PERIODS_MAX);
    interrupt_state interrupts;
    uint64_t due;

    make_matrix();
    print("cache: the victim begins\n");
    interrupts = interrupts_save();
    due = arch_clock_ticks() + after * ticks_per_us;
    wait_until(due);
    for (uint32_t i = 0; i < WARM_UPS; i++) {
        step();
    }
    begin_counts();
    for (uint64_t i = 0; i < periods; i++) {
        due += period * ticks_per_us;
        wait_until(due);
        step();
    }
    end_counts();
    interrupts_restore(interrupts);
    print("cache: the victim ends with %u\n", state[0]);
}
