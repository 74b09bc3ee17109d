/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interface between the files of the GIC driver.
 */
#ifndef GIC_PRIVATE_H
#define GIC_PRIVATE_H

#include "interrupt/controller.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A smaller number is more urgent. A GIC implements at least the upper four bits (IHI 0069, 4.8),
 * so the lower four stay 0. Handlers run with interrupts masked, so none preempts another. A mask
 * admits the interrupts whose number is smaller than its own. */
#define GIC_PRIORITY            0xA0u
#define GIC_PRIORITY_DEFERRABLE 0xC0u
#define GIC_PRIORITY_MASK       0xF0u
#define GIC_PRIORITY_MASK_DEFER GIC_PRIORITY_DEFERRABLE

/* Maximum number of reads of a status register, about 10 ms. Then the GIC is considered stuck. */
#define GIC_POLLS_MAX 100000u
/* The same while interrupts are masked: about 25 us. */
#define GIC_POLLS_MASKED 256u

/* This core's Redistributor: RD frame, SGI frame behind it. */
struct redistributor {
    uintptr_t base; /* mapped one to one: ITS commands contain the physical address */
    uint32_t type;  /* GICR_TYPER, lower half */
};

/* Finds the Redistributor of `affinity` in the GIC's node, maps and wakes it.
 * Results: arch_interrupt_controller_init(). */
enum result redistributor_init(int node, uint64_t affinity, struct redistributor *redistributor);
/* Waits until GICR_CTLR.RWP is clear, for `polls` reads at most. Returns false if it stays set. */
bool redistributor_settle(const struct redistributor *redistributor, unsigned polls);

/* Reads the register at `address` until (value & mask) == wanted, `polls` times at most. Returns
 * false if that does not happen. */
bool gic_wait(uintptr_t address, uint32_t mask, uint32_t wanted, unsigned polls);

/* Writes a table's address register, with cacheable attributes if the GIC accepts them. Returns
 * true if it does; otherwise writes to the table must be cleaned to memory. */
bool gic_write_table_register(uintptr_t address, uint64_t value, unsigned cache_shift);
/* Makes writes to `bytes` of table memory visible to the GIC. `coherent` is the result of
 * gic_write_table_register(). */
void gic_publish(const void *memory, size_t bytes, bool coherent);

/* Allocates a cleared table of `bytes`, rounded up to pages. Returns NULL if memory is exhausted.
 */
void *gic_table_allocate(size_t bytes, size_t alignment);
void gic_table_free(void *table, size_t bytes);

/* Return GICD_TYPER and this core's Redistributor. Valid after arch_interrupt_controller_init(). */
uint32_t gic_distributor_type(void);
const struct redistributor *gic_redistributor(void);

/* Gives this core's Redistributor its LPI tables, once. Returns RESULT_UNSUPPORTED,
 * RESULT_NO_MEMORY, or RESULT_TIMED_OUT. */
enum result lpi_init(const struct redistributor *redistributor);
/* Returns the memory of those tables in bytes. */
size_t lpi_bytes(void);
/* Returns the last number of an LPI that the GIC supports and the tables hold, plus 1. */
uint32_t lpi_limit(void);
/* Write an LPI's configuration byte. An INV command must follow. */
void lpi_set(uint32_t number, bool enabled);
void lpi_set_priority(uint32_t number, uint8_t priority);

/* The part of arch_interrupt_*() for LPIs. Interrupts masked. */
bool its_has(uint32_t number);
void its_set_enabled(uint32_t number, bool enabled);
void its_set_priority(uint32_t number, uint8_t priority);
void its_set_pending(uint32_t number, bool pending);
void its_init(void);

#endif
