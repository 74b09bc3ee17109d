/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that overwrites all of its memory but its code and its stack when `d` is typed, and
 * resets itself when `r` is typed. Before that it stores to its stack only. BEGIN and END: its
 * memory. KEPT and KEPT_END: its kept memory.
 */
#include "machine.h"

#define PATTERN UINT64_C(0xd1d2d3d4d5d6d7d8)
#define STACK   4096u

extern char _start[], stacks[]; /* start.S */

/* A part of the image that is overwritten, too. */
__attribute__((section(".data"))) char ballast[20001] = {1, 2, 3};

static char typed(void)
{
    while ((read32(UART_FLAGS) & FLAG_EMPTY) != 0) {
    }
    return (char)read32(UART_DATA);
}

static void overwrite(uintptr_t from, uintptr_t to)
{
    for (uintptr_t at = (from + 7) & ~UINT64_C(7); at + 8 <= to; at += 8) {
        *(volatile uint64_t *)at = PATTERN;
    }
}

void guest_main(void)
{
    print("ready\n");
    for (;;) {
        switch (typed()) {
        case 'd':
            overwrite(BEGIN, (uintptr_t)_start);
            overwrite((uintptr_t)ballast, (uintptr_t)stacks);
            overwrite((uintptr_t)stacks + STACK, END);
            overwrite(KEPT, KEPT_END);
            print("overwritten\n");
            break;
        case 'r':
            (void)call(SYSTEM_RESET, 0, 0, 0);
            break;
        default:
            break;
        }
    }
}
