/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets inside struct exception_frame, for assembly; exception.c checks them.
 */
#ifndef FRAME_LAYOUT_H
#define FRAME_LAYOUT_H

#define FRAME_X               0
#define FRAME_STACK_POINTER   248
#define FRAME_PROGRAM_COUNTER 256
#define FRAME_PROCESSOR_STATE 264
#define FRAME_SYNDROME        272
#define FRAME_ADDRESS         280
#define FRAME_VECTOR          288

#endif
