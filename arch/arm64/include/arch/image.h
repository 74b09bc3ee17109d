/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Boundaries of the image's parts, defined by guest.ld and entry.S. Only the addresses of these
 * symbols have a meaning.
 */
#ifndef ARCH_IMAGE_H
#define ARCH_IMAGE_H

extern char image_start[];         /* code, up to image_text_end */
extern char image_text_end[];      /* constants, up to image_constants_end */
extern char image_constants_end[]; /* data and .bss, up to image_end */
extern char image_end[];

extern char interrupt_stack_guard[]; /* guard page, which is not mapped */
extern char interrupt_stack_bottom[];
extern char interrupt_stack_top[];
extern char emergency_stack_bottom[];
extern char emergency_stack_top[];

#endif
