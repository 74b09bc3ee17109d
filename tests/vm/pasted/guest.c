/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest without a kernel that reads its console slowly, by polling. At each line's end it prints
 * the number of bytes of the line and their sum.
 */
#include "machine.h"

#define LOOPS 2000u /* between two bytes */

static void print_number(uint64_t number)
{
    char digits[21];
    unsigned at = sizeof(digits) - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    print(&digits[at]);
}

void guest_main(void)
{
    uint64_t count = 0, sum = 0;

    print("reads\n");
    for (;;) {
        if ((read32(UART_FLAGS) & FLAG_EMPTY) == 0) {
            uint32_t byte = read32(UART_DATA) & 0xff;

            if (byte == '\n') {
                print_number(count);
                print(" bytes, sum ");
                print_number(sum);
                print("\n");
                count = sum = 0;
            } else {
                count++;
                sum = sum * 31 + byte;
            }
            for (volatile unsigned i = 0; i < LOOPS; i++) {
            }
        }
    }
}
