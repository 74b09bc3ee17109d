/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ITS's command queue (IHI 0069, 5.3, GITS_CBASER, GITS_CWRITER, GITS_CREADR): a ring of
 * 32-byte commands that the driver writes and the ITS executes.
 */
#include "gic/its_private.h"

#include "gic/gic_private.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

/* GITS_CBASER: bits 15:12 of the base must be 0 too. */
#define QUEUE_ALIGNMENT ((size_t)64 * 1024)
#define QUEUE_COMMANDS  ((uint32_t)(ITS_QUEUE_BYTES / sizeof(struct its_command)))

/* Maximum number of consecutive stalled commands that are replaced by a SYNC. After more, the ITS
 * is considered stuck. */
#define STALLS_MAX 2u

#define COMMAND_INT   0x03u
#define COMMAND_CLEAR 0x04u
#define COMMAND_SYNC  0x05u
#define COMMAND_MAPD  0x08u
#define COMMAND_MAPC  0x09u
#define COMMAND_MAPTI 0x0Au
#define COMMAND_INV   0x0Cu

#define VALID      (UINT64_C(1) << 63)
#define TABLE_MASK UINT64_C(0x000FFFFFFFFFFF00) /* MAPD: bits 51:8 of the address */

struct its_command its_map_device(uint32_t device, unsigned event_bits, uint64_t table)
{
    return (struct its_command){
        {COMMAND_MAPD | (uint64_t)device << 32, event_bits - 1, VALID | (table & TABLE_MASK), 0}};
}

struct its_command its_map_collection(uint16_t collection, uint64_t target)
{
    return (struct its_command){{COMMAND_MAPC, 0, VALID | target | collection, 0}};
}

struct its_command its_map_event(uint32_t device, uint32_t event, uint32_t number,
                                 uint16_t collection)
{
    return (struct its_command){
        {COMMAND_MAPTI | (uint64_t)device << 32, (uint64_t)number << 32 | event, collection, 0}};
}

struct its_command its_invalidate(uint32_t device, uint32_t event)
{
    return (struct its_command){{COMMAND_INV | (uint64_t)device << 32, event, 0, 0}};
}

struct its_command its_interrupt(uint32_t device, uint32_t event)
{
    return (struct its_command){{COMMAND_INT | (uint64_t)device << 32, event, 0, 0}};
}

struct its_command its_clear(uint32_t device, uint32_t event)
{
    return (struct its_command){{COMMAND_CLEAR | (uint64_t)device << 32, event, 0, 0}};
}

static struct its_command synchronise(uint64_t target)
{
    return (struct its_command){{COMMAND_SYNC, 0, target, 0}};
}

enum result its_queue_init(struct its_queue *queue, uintptr_t registers, uint64_t target)
{
    *queue = (struct its_queue){.registers = registers, .target = target};
    queue->commands = gic_table_allocate(ITS_QUEUE_BYTES, QUEUE_ALIGNMENT);
    if (queue->commands == NULL) {
        return RESULT_NO_MEMORY;
    }
    queue->coherent = gic_write_table_register(registers + GITS_CBASER,
                                               GITS_CBASER_VALID | (uintptr_t)queue->commands |
                                                   (ITS_QUEUE_BYTES / 4096 - 1),
                                               GITS_BASER_CACHE_SHIFT);
    /* Writing GITS_CBASER sets GITS_CREADR to 0, but not GITS_CWRITER. */
    device_write64(registers + GITS_CWRITER, 0);
    gic_publish(queue->commands, ITS_QUEUE_BYTES, queue->coherent);
    return RESULT_OK;
}

void its_queue_free(struct its_queue *queue)
{
    if (queue->commands != NULL) {
        device_write64(queue->registers + GITS_CBASER, 0);
        gic_table_free(queue->commands, ITS_QUEUE_BYTES);
        queue->commands = NULL;
    }
}

static uint32_t free_slots(const struct its_queue *queue)
{
    return QUEUE_COMMANDS - 1 - (queue->issued - queue->completed);
}

static void append(struct its_queue *queue, struct its_command command)
{
    struct its_command *slot = &queue->commands[queue->issued % QUEUE_COMMANDS];

    *slot = command;
    gic_publish(slot, sizeof(*slot), queue->coherent);
    queue->issued++;
}

static void write_writer(const struct its_queue *queue, uint64_t retry)
{
    uint64_t next = queue->issued % QUEUE_COMMANDS * sizeof(struct its_command);

    device_write64(queue->registers + GITS_CWRITER, next | retry);
}

/* Replaces the command that the ITS cannot execute (GITS_CREADR.Stalled), and to which GITS_CREADR
 * points, by a SYNC, which cannot fail. GITS_CWRITER.Retry makes the ITS continue with the SYNC. */
static void replace_stalled(struct its_queue *queue)
{
    struct its_command *slot = &queue->commands[queue->completed % QUEUE_COMMANDS];

    print("gic: ITS refuses command %#llx %#llx %#llx\n", (unsigned long long)slot->word[0],
          (unsigned long long)slot->word[1], (unsigned long long)slot->word[2]);
    /* submit() appends pairs of commands, and `awaited` is the count at the end of a pair. */
    if ((queue->completed & ~UINT32_C(1)) + 2 == queue->awaited) {
        queue->awaited_refused = true;
    }
    *slot = synchronise(queue->target);
    gic_publish(slot, sizeof(*slot), queue->coherent);
    write_writer(queue, GITS_CWRITER_RETRY);
}

/* Updates `completed` from GITS_CREADR. Interrupts masked; one register access, and a second one
 * after a stall. */
static void read_progress(struct its_queue *queue)
{
    uint64_t reader = device_read64(queue->registers + GITS_CREADR);
    uint32_t index = (uint32_t)(reader / sizeof(struct its_command)) % QUEUE_COMMANDS;
    uint32_t progress = (index - queue->completed) % QUEUE_COMMANDS;

    if (progress != 0 && progress <= queue->issued - queue->completed) {
        queue->completed += progress;
        queue->stalls = 0;
    }
    if ((reader & GITS_CREADR_STALLED) != 0 && queue->stalls < STALLS_MAX) {
        queue->stalls++;
        replace_stalled(queue);
    }
}

static bool is_done(const struct its_queue *queue, uint32_t end)
{
    return (int32_t)(queue->completed - end) >= 0;
}

/* Appends a command and a SYNC, always in pairs; *end gets the count of completed commands at
 * which both are done. Returns false if there is no room. Interrupts masked. */
static bool submit(struct its_queue *queue, struct its_command command, uint32_t *end)
{
    if (free_slots(queue) < 2) {
        read_progress(queue);
        if (free_slots(queue) < 2) {
            return false;
        }
    }
    append(queue, command);
    append(queue, synchronise(queue->target));
    write_writer(queue, 0);
    *end = queue->issued;
    return true;
}

static void mark_dead(struct its_queue *queue)
{
    queue->dead = true;
    print("gic: ITS does not respond: no more message-signalled interrupts\n");
}

/* Submits the command unless *submitted is set, and reads the ITS's progress once, with interrupts
 * masked. Returns true when the command is completed. */
static bool submit_and_check(struct its_queue *queue, struct its_command command, bool *submitted)
{
    interrupt_state state = interrupts_save();
    bool done = false;

    if (!*submitted) {
        *submitted = submit(queue, command, &queue->awaited);
        queue->awaited_refused = false;
    }
    if (*submitted) {
        read_progress(queue);
        done = is_done(queue, queue->awaited);
    }
    interrupts_restore(state);
    return done;
}

enum result its_execute(struct its_queue *queue, struct its_command command)
{
    bool submitted = false;

    if (queue->dead) {
        return RESULT_TIMED_OUT;
    }
    for (unsigned poll = 0; poll < GIC_POLLS_MAX; poll++) {
        if (submit_and_check(queue, command, &submitted)) {
            return queue->awaited_refused ? RESULT_INVALID : RESULT_OK;
        }
    }
    mark_dead(queue);
    return RESULT_TIMED_OUT;
}

void its_execute_masked(struct its_queue *queue, struct its_command command)
{
    uint32_t end;

    if (queue->dead) {
        return;
    }
    if (!submit(queue, command, &end)) {
        mark_dead(queue);
        return;
    }
    for (unsigned poll = 0; poll < GIC_POLLS_MASKED && !is_done(queue, end); poll++) {
        read_progress(queue);
    }
}
