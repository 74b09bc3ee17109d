/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function that the architecture's boot code calls. The program that links the boot code
 * defines it.
 */
#ifndef ARCH_BOOT_H
#define ARCH_BOOT_H

#include <stdint.h>

/* Executes the program. Called once, on the boot stack, with the image and the devicetree's header
 * mapped, caches on, interrupts masked. `devicetree`: the address that the loader passed.
 * `first_ticks`: the counter when the first instruction executed. */
_Noreturn void arch_main(const void *devicetree, uint64_t first_ticks);

#endif
