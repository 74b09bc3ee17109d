/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a partition's virtual PL011 (console/uart.h). */
#ifndef CONSOLE_STATE_H
#define CONSOLE_STATE_H

#include "console/filter.h"
#include "hypervisor/ticket_lock.h"
#include <stdbool.h>
#include <stdint.h>

#define CONSOLE_INPUT_BYTES    384u
#define CONSOLE_LINE_BYTES     160u /* a longer line is printed in parts */
#define VIRTUAL_UART_REGISTERS 19u
#define VIRTUAL_UART_FIFO      16u /* bytes to transmit; size in the PL011 revision that is shown */

/* The monitors of all VCPUs of the partition access it while they hold `lock`. */
struct virtual_uart {
    struct ticket_lock lock;
    uint16_t registers[VIRTUAL_UART_REGISTERS]; /* as last written, by offset / 4 */
    bool transmitted;                           /* UARTRIS.TXRIS */
    uint8_t output[VIRTUAL_UART_FIFO]; /* transmit FIFO: empty unless the terminal has no room */
    uint32_t output_first, output_count;
    uint8_t input[CONSOLE_INPUT_BYTES]; /* receive FIFO */
    uint32_t input_first, input_count;
    struct filter filter;
    bool input_is_held; /* the input is for the guest that starts next */
    bool is_shown; /* input_take() has printed the line, and takes keys next. By the boot VCPU */
    char line[CONSOLE_LINE_BYTES]; /* the current line, as sent to the terminal */
    uint32_t line_bytes;           /* its length */
    uint32_t line_shown;           /* bytes of it that were sent */
};

#endif
