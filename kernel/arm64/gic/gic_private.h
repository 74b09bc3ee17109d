/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the GIC's files share.
 */
#ifndef GIC_PRIVATE_H
#define GIC_PRIVATE_H

#include "interrupt/controller.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One priority for all: no interrupt preempts another. Four bits are the fewest a GIC implements
 * (IHI 0069, 4.8), so the lower four stay 0. The mask lets it pass. */
#define GIC_PRIORITY      0xA0u
#define GIC_PRIORITY_MASK 0xF0u

/* How often a register is read that says when something is done: some 10 ms of a stuck GIC. */
#define GIC_POLLS_MAX 100000u
/* The same while interrupts are masked: some 25 us. */
#define GIC_POLLS_MASKED 256u

/* This core's Redistributor: RD frame, SGI frame behind it. */
struct redistributor {
    uintptr_t base; /* mapped, and the physical address: the ITS is told it */
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

/* Writes a table's address register so that the GIC reads it through the caches if it can. False:
 * it cannot, and what is written to the table must be cleaned to memory. */
bool gic_write_table_register(uintptr_t address, uint64_t value, unsigned cache_shift);
/* Lets the GIC see `bytes` of table memory, by what gic_write_table_register() answered. */
void gic_publish(const void *memory, size_t bytes, bool coherent);

/* A cleared table, NULL when memory is exhausted. `bytes` is rounded up to pages. */
void *gic_table_allocate(size_t bytes, size_t alignment);
void gic_table_free(void *table, size_t bytes);

/* The distributor's GICD_TYPER, and this core's Redistributor; valid after init. */
uint32_t gic_distributor_type(void);
const struct redistributor *gic_redistributor(void);

/* LPIs: gives this core's Redistributor its tables, once. RESULT_UNSUPPORTED, RESULT_NO_MEMORY,
 * RESULT_TIMED_OUT. */
enum result lpi_init(const struct redistributor *redistributor);
/* Memory of those tables. */
size_t lpi_bytes(void);
/* Numbers this GIC has, from GIC_LPI_FIRST on, as far as the tables reach. */
uint32_t lpi_limit(void);
/* Writes the configuration; the ITS has to tell the Redistributor. */
void lpi_set(uint32_t number, bool enabled);

/* The ITS's part of arch_interrupt_*, for allocated LPIs. Interrupts masked. */
bool its_has(uint32_t number);
void its_set_enabled(uint32_t number, bool enabled);
void its_set_pending(uint32_t number, bool pending);
void its_init(void);

#endif
