/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a partition tries that it may not, one function an attack, by subject. `where`: an address,
 * or whatever else the attack is about. What the separation kernel has to stop never comes back.
 */
#ifndef APPS_TESTS_ROGUE_H
#define APPS_TESTS_ROGUE_H

#include "kernel/interrupt.h"
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
void attack_abort(uint64_t where); /* and prints the external aborts that it gets for it */

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

/* undefined.c */
void attack_undefined(uint64_t where);
void attack_identity(uint64_t where);
void attack_locks(uint64_t where);

/* remains.c */
void attack_mark(uint64_t where);
void attack_marked(uint64_t where);

/* vectors.S: fills SIMD registers; returns how many held the pattern before. */
unsigned vectors_mark(uint64_t pattern);

/* maintenance.c */
void attack_maintenance(uint64_t where); /* for that many seconds */

/* storms.c */
void attack_spin(uint64_t where);
void attack_waiting(uint64_t where);
void attack_storm(uint64_t where);
void attack_console(uint64_t where);
void attack_terminal(uint64_t where);

/* random.c; xorshift64: the same run each time. */
uint64_t random_next(void);

/* reach.c: device memory at an address of whoever it is. */
uintptr_t reach(uint64_t address, size_t bytes);

/* code.c: memory for instructions made at run time, of `words`; then it can be run, and is written
 * no more. NULL, false: no memory. */
uint32_t *code_allocate(size_t words);
bool code_finish(uint32_t *code, size_t words);

/* Instructions (Arm ARM, "System instruction class encoding overview"). */
#define NAME(op1, n, m, op2) ((op1) << 11 | (n) << 7 | (m) << 3 | (op2))
#define WRITE(op0, name)     (0xd5000000u | (uint32_t)(op0) << 19 | (uint32_t)(name) << 5) /* MSR */
#define READ(op0, name)      (WRITE(op0, name) | 1u << 21)                                 /* MRS */
#define RET                  0xd65f03c0u

#define EXCEPTION_CLASS(syndrome) ((unsigned)((syndrome) >> 26))

/* try.S */
extern const char try_vectors[];
/* The last exception that try_vectors took: offset of the vector, SPSR_EL1. */
extern uint64_t try_vector, try_state;
/* Runs the instructions with `value` in x0, and returns what they leave in x0. An instruction that
 * raises an exception is skipped: *syndrome is its ESR_EL1, or 0 if there was none. The caller has
 * called try_begin(). */
uint64_t try_code(const uint32_t *code, uint64_t value, uint64_t *syndrome);

/* trying.c: masks interrupts and puts try_vectors into VBAR_EL1; puts both back. */
struct trying {
    interrupt_state interrupts;
    uint64_t vectors;
};
struct trying try_begin(void);
void try_end(const struct trying *trying);

#endif
