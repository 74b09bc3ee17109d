/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets in struct core and struct registers, for assembly; core.h checks them. */
#ifndef MONITOR_CORE_LAYOUT_H
#define MONITOR_CORE_LAYOUT_H

#define FRAME_BYTES   272 /* x0 to x30, ELR, SPSR, one spare: a multiple of 16 */
#define FRAME_PC      248
#define FROM_EL2      4 /* added to enum vector for an exception from EL2 itself */
#define CORE_SERVICES 0
#define CORE_STACK    8
#define CORE_RESIDENT 40

#endif
