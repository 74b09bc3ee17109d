/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the architecture's boot code calls.
 */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include <stdint.h>

/* On the boot stack, with the image and the devicetree's header mapped, caches on, interrupts
 * masked. `first_ticks`: the counter when the first instruction ran. */
_Noreturn void kernel_main(const void *devicetree, uint64_t first_ticks);

#endif
