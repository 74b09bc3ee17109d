/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers of QEMU's processors that a translation depends on. */
#ifndef MEMORY_MODEL_REGISTERS_H
#define MEMORY_MODEL_REGISTERS_H

#include "translation.h"
#include <stdbool.h>
#include <stdint.h>

/* Finds the registers' handles, which all processors share. Returns false if QEMU lacks one. In the
 * callback of a processor's start. */
bool registers_find(void);

/* Returns the exception level, 0 to 3. In a callback with QEMU_PLUGIN_CB_R_REGS. */
uint32_t registers_exception_level(void);

/* Reads all registers, but for the exception level. In such a callback, too. */
void registers_read(struct translation_registers *registers);

/* Returns the virtual address at which the executing block of code begins. In such a callback, of
 * the block's first instruction. */
uint64_t registers_block_address(void);

/* Returns a general register, 0 for number 31 (XZR). In such a callback, too. */
uint64_t registers_general(uint32_t number);

#endif
