/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function that the architecture's boot code calls. It is defined by the program that links the
 * boot code.
 */
#ifndef ARCH_BOOT_H
#define ARCH_BOOT_H

#include <stdint.h>

/* Called once, on the boot stack, with the image and the devicetree's header mapped, caches on,
 * interrupts masked. `devicetree` is the address that the loader passed. `first_ticks` is the
 * counter when the first instruction ran. */
_Noreturn void arch_main(const void *devicetree, uint64_t first_ticks);

#endif
