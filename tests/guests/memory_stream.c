/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads its working set again and again, a byte of each cache line, and writes none. The boot
 * argument `bytes` is the size of the working set (default 64 KiB).
 *
 * An emulator that executes one core at a time continues with the next one at YIELD. So the guests
 * of a system take turns after some lines each.
 */
#include <arch/wait.h>

#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"

#define LINE_BYTES    64u
#define TURN_BYTES    (16 * LINE_BYTES)
#define DEFAULT_BYTES 0x10000u
#define LEAST_BYTES   0x1000u
#define MOST_BYTES    0x400000u

int application_main(void)
{
    size_t bytes = (size_t)boot_argument_number("bytes", DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES);
    const volatile uint8_t *memory = heap_allocate(bytes);

    if (memory == NULL) {
        print("FAIL: memory-stream: no memory\n");
        return 1;
    }
    print("memory-stream: reads %lu bytes\n", (unsigned long)bytes);
    for (;;) {
        for (size_t i = 0; i < bytes; i += LINE_BYTES) {
            (void)memory[i];
            if (i % TURN_BYTES == 0) {
                arch_yield();
            }
        }
    }
}
