/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a partition tries that it may not, one function an attack, by subject. `where`: an address,
 * or whatever else the attack is about. What the separation kernel has to stop never comes back.
 */
#ifndef APPS_TESTS_ROGUE_H
#define APPS_TESTS_ROGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE UINT64_C(4096)

/* As the board has them (boards/qemu-virt): what is attacked is not in this guest's devicetree. */
#define BOARD_CONSOLE        UINT64_C(0x09000000)
#define BOARD_DISTRIBUTOR    UINT64_C(0x08000000)
#define BOARD_REDISTRIBUTORS UINT64_C(0x080a0000)
#define BOARD_ECAM           UINT64_C(0x4010000000)

/* memory.c */
void attack_read(uint64_t where);
void attack_write(uint64_t where);
void attack_execute(uint64_t where);
void attack_pair(uint64_t where);
void attack_exclusive(uint64_t where);
void attack_walk(uint64_t where);

/* interrupts.c */
void attack_distributor(uint64_t where);
void attack_redistributor(uint64_t where); /* the one with that number, from the first on */
void attack_sgi(uint64_t where);
void attack_priority(uint64_t where); /* of the Redistributor with that number, this core's */

/* pci.c */
void attack_configuration_space(uint64_t where); /* every register of the bus with that number */
void attack_bars(uint64_t where);

/* dma.c: the NIC, told to use memory at `where` */
void attack_dma_none(uint64_t where); /* its own alone: it works */
void attack_dma_transmit(uint64_t where);
void attack_dma_receive(uint64_t where);
void attack_dma_descriptors(uint64_t where);
void attack_dma_available(uint64_t where);
void attack_dma_used(uint64_t where);
void attack_dma_indirect(uint64_t where);

/* calls.c */
void attack_power(uint64_t where);
void attack_calls(uint64_t where); /* so many */

/* registers.c */
void attack_registers(uint64_t where);
void attack_cache(uint64_t where);

/* storms.c */
void attack_spin(uint64_t where);
void attack_waiting(uint64_t where);
void attack_storm(uint64_t where);
void attack_console(uint64_t where);

/* random.c; xorshift64: the same run each time. */
uint64_t random_next(void);

/* reach.c: device memory at an address of whoever it is. */
uintptr_t reach(uint64_t address, size_t bytes);

/* code.c: memory for instructions made at run time, of `words`; then it can be run, and is written
 * no more. NULL, false: no memory. */
uint32_t *code_allocate(size_t words);
bool code_finish(uint32_t *code, size_t words);

/* try.S */
extern const char try_vectors[];
/* Runs the instructions with `value` in x0; what they leave there. An instruction that this guest's
 * own level refuses is skipped, and *syndrome is its ESR_EL1, or 0. Only with try_vectors in
 * VBAR_EL1 and interrupts masked. */
uint64_t try_code(const uint32_t *code, uint64_t value, uint64_t *syndrome);

#endif
