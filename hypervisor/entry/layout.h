/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets in struct processor and struct registers, for assembly; processor.h and frame.h check
 * them. */
#ifndef ENTRY_LAYOUT_H
#define ENTRY_LAYOUT_H

#define FRAME_BYTES        272 /* x0 to x30, ELR, SPSR, one spare: a multiple of 16 */
#define FRAME_PC           248
#define PROCESSOR_SERVICES 0
#define PROCESSOR_STACK    8
#define PROCESSOR_RESIDENT 16

#endif
