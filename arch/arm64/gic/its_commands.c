/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ITS's command queue (IHI 0069, 5.3, GITS_CBASER, GITS_CWRITER, GITS_CREADR): a ring of
 * 32-byte commands that we fill and the ITS empties.
 */
#include "gic/its_private.h"

#include "gic/gic_private.h"
#include "gic/gic_registers.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include <arch/device_access.h>

/* GITS_CBASER: of the base, bits 15:12 have to be 0 as well. */
#define QUEUE_ALIGNMENT ((size_t)64 * 1024)
#define QUEUE_COMMANDS  ((uint32_t)(ITS_QUEUE_BYTES / sizeof(struct its_command)))

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
    /* Writing GITS_CBASER sets GITS_CREADR to 0; the writer's side is ours to reset. */
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

static void append(struct its_queue *queue, struct its_command command)
{
    struct its_command *slot = &queue->commands[queue->next];

    *slot = command;
    gic_publish(slot, sizeof(*slot), queue->coherent);
    queue->next = (queue->next + 1) % QUEUE_COMMANDS;
}

/* GITS_CREADR.Stalled: the command it points to cannot be carried out. A SYNC in its place cannot
 * fail; GITS_CWRITER.Retry has the ITS go on with it. */
static void replace_stalled(struct its_queue *queue, uint64_t reader)
{
    struct its_command *slot = &queue->commands[reader / sizeof(*slot) % QUEUE_COMMANDS];

    print("gic: ITS refuses command %#llx %#llx %#llx\n", (unsigned long long)slot->word[0],
          (unsigned long long)slot->word[1], (unsigned long long)slot->word[2]);
    *slot = synchronise(queue->target);
    gic_publish(slot, sizeof(*slot), queue->coherent);
    device_write64(queue->registers + GITS_CWRITER,
                   queue->next * sizeof(*slot) | GITS_CWRITER_RETRY);
}

static enum result drain(struct its_queue *queue)
{
    uint64_t writer = queue->next * sizeof(struct its_command);
    enum result result = RESULT_OK;
    unsigned stalls = 0;

    device_write64(queue->registers + GITS_CWRITER, writer);
    for (unsigned poll = 0; poll < GIC_POLLS_MAX; poll++) {
        uint64_t reader = device_read64(queue->registers + GITS_CREADR);

        if ((reader & GITS_CREADR_STALLED) == 0) {
            if (reader == writer) {
                return result;
            }
        } else if (stalls++ < 2) {
            replace_stalled(queue, reader);
            result = RESULT_INVALID;
        }
    }
    queue->dead = true;
    print("gic: ITS does not answer: no more message-signalled interrupts\n");
    return RESULT_TIMED_OUT;
}

/* The queue is empty between calls, so two commands always fit. */
enum result its_execute(struct its_queue *queue, struct its_command command)
{
    interrupt_state state = interrupts_save();
    enum result result = RESULT_TIMED_OUT;

    if (!queue->dead) {
        append(queue, command);
        append(queue, synchronise(queue->target));
        result = drain(queue);
    }
    interrupts_restore(state);
    return result;
}
