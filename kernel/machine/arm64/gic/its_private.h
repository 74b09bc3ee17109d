/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ITS's tables and command queue, for its.c.
 */
#ifndef ITS_PRIVATE_H
#define ITS_PRIVATE_H

#include "kernel/result.h"
#include <devices/gic_registers.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct its_tables {
    uintptr_t registers;
    uint64_t device_limit; /* number of device ids that the device table has entries for */
    bool coherent;         /* the ITS accesses memory coherently with the caches */
    struct its_table {
        void *memory; /* NULL: none */
        size_t bytes;
    } table[GITS_BASER_COUNT];
};

/* Gives the ITS, which must be disabled, tables for device ids up to `highest_device` and for
 * `collection`; `type` is GITS_TYPER. After a failure the caller calls its_tables_free(). Returns
 * RESULT_NO_MEMORY, or RESULT_UNSUPPORTED if a flat table cannot hold that many. */
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
    uint64_t target; /* RDbase: this core's Redistributor in commands */
    /* Counts of commands, which wrap; modulo the ring's size they are indices. */
    uint32_t issued;    /* commands written to the ring */
    uint32_t completed; /* commands completed by the ITS at the last read of GITS_CREADR */
    uint32_t awaited;   /* value of `completed` that its_execute() waits for */
    bool awaited_refused;
    unsigned stalls; /* number of stalls since `completed` last grew */
    bool coherent;
    bool dead; /* the ITS did not respond; no further commands are sent */
};

/* GITS_CBASER counts pages of 4 KiB. */
#define ITS_QUEUE_BYTES ((size_t)4096)

/* Gives the ITS, which must be disabled, an empty queue. Returns RESULT_OK or RESULT_NO_MEMORY. */
enum result its_queue_init(struct its_queue *queue, uintptr_t registers, uint64_t target);
/* Frees the queue. Does nothing if there is none. The ITS must be disabled. */
void its_queue_free(struct its_queue *queue);

/* Makes the ITS execute a command, and waits until its effects are complete at the Redistributor.
 * One caller at a time, with interrupts enabled; the function masks them for six register accesses
 * at a time. Returns RESULT_TIMED_OUT if the ITS has not executed the command in time (it may still
 * do so later), RESULT_INVALID if the ITS stalled on the command, which was then skipped. */
enum result its_execute(struct its_queue *queue, struct its_command command);

/* The same for callers that have interrupts masked. Waits for at most GIC_POLLS_MASKED reads of a
 * register. An ITS that takes longer executes the command after the call has returned. */
void its_execute_masked(struct its_queue *queue, struct its_command command);

/* The commands that the driver uses (IHI 0069, 5.3). */
struct its_command its_map_device(uint32_t device, unsigned event_bits, uint64_t table);
struct its_command its_map_collection(uint16_t collection, uint64_t target);
struct its_command its_map_event(uint32_t device, uint32_t event, uint32_t number,
                                 uint16_t collection);
struct its_command its_invalidate(uint32_t device, uint32_t event);
struct its_command its_interrupt(uint32_t device, uint32_t event);
struct its_command its_clear(uint32_t device, uint32_t event);

#endif
