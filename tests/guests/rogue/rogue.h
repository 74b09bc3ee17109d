/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks that a partition may try, one function each. `where` is an address unless a comment says
 * otherwise. A function does not return if the separation kernel has to stop the attack.
 */
#ifndef APPS_TESTS_ROGUE_H
#define APPS_TESTS_ROGUE_H

#include "instructions.h"
#include "kernel/interrupt.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE UINT64_C(4096)

/* The attacks only sample what the hypervisor handles alike: what no register of the interrupt
 * controller and no function occupies, and the rounds of attacks that repeat their accesses. */
extern bool attack_samples;

/* Addresses of the board (boards/qemu-virt), because this guest's devicetree does not list them. */
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
void attack_abort(uint64_t where); /* also prints the external aborts it gets */

/* interrupts.c */
void attack_distributor(uint64_t where);
void attack_redistributor(uint64_t where); /* `where`: number of the Redistributor, from 0 */
void attack_sgi(uint64_t where);
void attack_priority(uint64_t where); /* `where`: number of this core's Redistributor */
void attack_end(uint64_t where);
void attack_end_spis(uint64_t where);
/* `where`: what the shut core does: an endless loop, or one of these. */
#define SHUT_AGAIN  1u /* shuts itself again and again */
#define SHUT_ASLEEP 2u /* waits for interrupts */
void attack_shut(uint64_t where);
void attack_shut_a_while(uint64_t where); /* `where`: seconds; prints whether it stays shut */
void attack_shut_dma(uint64_t where); /* attack_dma_transmit() by a shut core, which then sleeps */
void attack_suspend(uint64_t where);

/* pci.c */
void attack_configuration_space(uint64_t where); /* `where`: bus number; all its registers */
void attack_bars(uint64_t where);

/* function.c */
void attack_function(uint64_t where); /* `where`: of the PCI host for channels */
/* Reads and writes registers with each size, every `step` bytes. */
void scribble_registers(uintptr_t from, uint64_t bytes, uint64_t step);
void attack_unaligned(uint64_t where);

/* dma.c: attacks by the NIC, which is told to use memory at `where` */
void attack_dma_none(uint64_t where); /* control case: uses only its own memory */
void attack_dma_transmit(uint64_t where);
void attack_dma_storm(uint64_t where);
void attack_dma_receive(uint64_t where);
void attack_dma_descriptors(uint64_t where);
void attack_dma_available(uint64_t where);
void attack_dma_used(uint64_t where);
void attack_dma_indirect(uint64_t where);

/* calls.c */
void attack_power(uint64_t where);
void attack_calls(uint64_t where); /* `where`: number of calls */
void attack_orders(uint64_t where);
void attack_channels(uint64_t where);

/* registers.c */
void attack_registers(uint64_t where);
void attack_cache(uint64_t where);

/* undefined.c */
void attack_undefined(uint64_t where);
void attack_identity(uint64_t where);
void attack_locks(uint64_t where);

/* remains.c */
void attack_mark(uint64_t where);
void attack_marked(uint64_t where);

/* vectors.S: fills v8 to v31 with the pattern. Returns the number of them that already held it. */
unsigned vectors_mark(uint64_t pattern);

/* maintenance.c */
void attack_maintenance(uint64_t where); /* `where`: seconds */

/* remap.c */
void attack_remap(uint64_t where);

/* device.c; `where`: of a shared device's registers */
void attack_device(uint64_t where);
void attack_doorbells(uint64_t where);
void attack_resets(uint64_t where);
void attack_clean(uint64_t where);
void attack_zero(uint64_t where);

/* storms.c */
void attack_spin(uint64_t where);
void attack_waiting(uint64_t where);
void attack_storm(uint64_t where);
void attack_console(uint64_t where);
void attack_terminal(uint64_t where);

/* random.c: xorshift64 with a fixed seed, so that every run is the same. */
uint64_t random_next(void);

/* reach.c: maps an address, whoever owns it, as device memory. */
uintptr_t reach(uint64_t address, size_t bytes);
/* The same as normal memory, because the processor itself refuses unaligned accesses and DC ZVA to
 * Device memory. The kernel may have mapped the page as such for its own driver. */
uintptr_t reach_as_memory(uint64_t address);

/* code.c: memory for instructions generated at run time. code_allocate() returns `words` of memory
 * to write, NULL if there is none. code_finish() maps it as executable and no longer writable;
 * returns false if there is no memory for that. */
uint32_t *code_allocate(size_t words);
bool code_finish(uint32_t *code, size_t words);

/* trying.c: try_begin() masks interrupts and sets VBAR_EL1 to try_vectors; try_end() restores
 * both. */
struct trying {
    interrupt_state interrupts;
    uint64_t vectors;
};
struct trying try_begin(void);
void try_end(const struct trying *trying);

#endif
