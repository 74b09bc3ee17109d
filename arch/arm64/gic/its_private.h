/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ITS's tables and command queue, for its.c.
 */
#ifndef ITS_PRIVATE_H
#define ITS_PRIVATE_H

#include "gic/gic_registers.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct its_tables {
    uintptr_t registers;
    uint64_t device_limit; /* ids the device table has entries for */
    bool coherent;         /* what the ITS reads and writes in memory goes through the caches */
    struct its_table {
        void *memory; /* NULL: none */
        size_t bytes;
    } table[GITS_BASER_COUNT];
};

/* Gives the ITS, which must be off, tables for device ids up to `highest_device` and for
 * `collection`; `type` is GITS_TYPER. After a failure its_tables_free() is due. RESULT_NO_MEMORY,
 * RESULT_UNSUPPORTED (more than a flat table can hold). */
enum result its_tables_init(struct its_tables *tables, uintptr_t registers, uint64_t type,
                            uint16_t collection, uint32_t highest_device);
void its_tables_free(struct its_tables *tables);
size_t its_tables_bytes(const struct its_tables *tables);

struct its_command {
    uint64_t word[4];
};

struct its_queue {
    uintptr_t registers;
    struct its_command *commands;
    uint32_t next;   /* index of the next to write */
    uint64_t target; /* RDbase as commands name this core's Redistributor */
    bool coherent;
    bool dead; /* it did not answer once: it is not asked again */
};

/* GITS_CBASER counts pages of 4 KiB. */
#define ITS_QUEUE_BYTES ((size_t)4096)

/* Gives the ITS, which must be off, an empty queue. RESULT_NO_MEMORY. */
enum result its_queue_init(struct its_queue *queue, uintptr_t registers, uint64_t target);
/* Takes it back; no queue is fine. */
void its_queue_free(struct its_queue *queue);

/* Has the ITS carry out a command, its effects complete at the Redistributor. Masks interrupts for
 * as long as that takes. RESULT_TIMED_OUT, RESULT_INVALID (the ITS stalled on it; it was skipped).
 */
enum result its_execute(struct its_queue *queue, struct its_command command);

/* The commands used (IHI 0069, 5.3). */
struct its_command its_map_device(uint32_t device, unsigned event_bits, uint64_t table);
struct its_command its_map_collection(uint16_t collection, uint64_t target);
struct its_command its_map_event(uint32_t device, uint32_t event, uint32_t number,
                                 uint16_t collection);
struct its_command its_invalidate(uint32_t device, uint32_t event);
struct its_command its_interrupt(uint32_t device, uint32_t event);
struct its_command its_clear(uint32_t device, uint32_t event);

#endif
