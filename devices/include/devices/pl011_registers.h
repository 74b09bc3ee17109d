/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of the Arm PrimeCell UART (PL011) (Arm DDI 0183, chapter 3), as offsets in bytes.
 */
#ifndef DEVICES_PL011_REGISTERS_H
#define DEVICES_PL011_REGISTERS_H

#define UARTDR            0x00u
#define UARTFR            0x18u
#define UARTILPR          0x20u
#define UARTIBRD          0x24u
#define UARTFBRD          0x28u
#define UARTLCRH          0x2cu
#define UARTCR            0x30u
#define UARTIFLS          0x34u
#define UARTIMSC          0x38u
#define UARTRIS           0x3cu
#define UARTMIS           0x40u
#define UARTICR           0x44u
#define UARTDMACR         0x48u
#define UARTREGISTERS_END 0x4cu
#define UARTPERIPHID0     0xfe0u /* eight registers: UARTPeriphID0 to 3, UARTPCellID0 to 3 */

#define FLAG_BUSY           (1u << 3)
#define FLAG_RECEIVE_EMPTY  (1u << 4)
#define FLAG_TRANSMIT_FULL  (1u << 5)
#define FLAG_RECEIVE_FULL   (1u << 6)
#define FLAG_TRANSMIT_EMPTY (1u << 7)

#define LINE_FIFO   (1u << 4)
#define LINE_8_BITS (3u << 5)

#define CONTROL_ENABLE   (1u << 0)
#define CONTROL_TRANSMIT (1u << 8)
#define CONTROL_RECEIVE  (1u << 9)

#define FIFO_LEVELS_HALF 0x12u /* UARTIFLS at reset */

#define INTERRUPT_RECEIVE         (1u << 4)
#define INTERRUPT_TRANSMIT        (1u << 5)
#define INTERRUPT_RECEIVE_TIMEOUT (1u << 6)
#define INTERRUPTS_ALL            0x7ffu

#endif
