/* SPDX-License-Identifier: BSD-2-Clause */
/* Boundaries of the image's sections, defined by hypervisor.ld. Each symbol is the address of a
 * page. The declarations tell the compiler this alignment, because it reads a structure byte by
 * byte if the address may be unaligned (-mstrict-align). */
#ifndef BOOT_IMAGE_H
#define BOOT_IMAGE_H

#include "hypervisor/description.h"
#include "memory/tables.h"

extern _Alignas(PAGE_BYTES) const char image_start[], image_end[];
extern _Alignas(PAGE_BYTES) const char monitor_text_start[], resident_text_end[];
extern _Alignas(PAGE_BYTES) const char monitor_text_end[];
extern _Alignas(PAGE_BYTES) const char monitor_constants_start[], monitor_constants_end[];
extern _Alignas(PAGE_BYTES) const char monitor_shared_start[], monitor_shared_end[];

/* Returns the system description, which the tools append to the image. */
static inline const struct description *image_description(void)
{
    return (const struct description *)(const void *)image_end;
}

#endif
