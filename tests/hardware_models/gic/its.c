/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic_private.h"
#include <devices/gic_registers.h>
#include <string.h>

#define COMMAND_MAPD    0x08u
#define COMMAND_BYTES   32u
#define ITT_ENTRY_BYTES 12u

/* Type and entry size of GITS_BASER, which the ITS chooses. */
#define TABLE_KIND UINT64_C(0x071F000000000000)

/* MAPD with its valid bit: the ITS owns the interrupt translation table from now on, and writes to
 * it. */
static void map_device(const uint64_t *command)
{
    uint8_t *table = (uint8_t *)(uintptr_t)(command[2] & 0xFFFFFFFFFFF00);
    size_t entries = (size_t)1 << ((command[1] & 0x1F) + 1);

    if (command[2] >> 63 != 0) {
        memset(table, 0, entries * ITT_ENTRY_BYTES);
    }
}

/* Carries out what stands in the queue between reader and writer, `most` commands of it. */
static void run_commands(struct gic_its *its, bool retry, unsigned most)
{
    const uint64_t *queue = (const uint64_t *)(uintptr_t)(its->queue & 0xFFFFFFFFFF000);
    uint64_t bytes = ((its->queue & 0xFF) + 1) * 4096;

    if ((its->control & GITS_CTLR_ENABLED) == 0 || its->deaf) {
        return;
    }
    if (retry) {
        its->reader &= ~GITS_CREADR_STALLED;
    }
    for (unsigned count = 0;
         count < most && (its->reader & GITS_CREADR_STALLED) == 0 && its->reader != its->writer;
         count++) {
        const uint64_t *command = queue + its->reader / 8;

        if ((command[0] & 0xFF) == its->stalls_on && its->stalls_on != 0) {
            its->reader |= GITS_CREADR_STALLED;
            return;
        }
        gic_model_require(its->command_count < GIC_MODEL_COMMANDS_MAX, "commands end", 0);
        memcpy(its->commands[its->command_count++], command, COMMAND_BYTES);
        if ((command[0] & 0xFF) == COMMAND_MAPD) {
            map_device(command);
        }
        its->reader = (its->reader + COMMAND_BYTES) % bytes;
    }
}

static uint64_t type_of(const struct gic_its *its)
{
    return 1 | (its->target_is_address ? GITS_TYPER_PTA : 0) | (ITT_ENTRY_BYTES - 1) << 4 |
           15u << 8 | 15u << 13 | (uint64_t)its->held_collections << 24;
}

static uint64_t read_table(const struct gic_its *its, unsigned index)
{
    uint64_t type = index == 0 ? GITS_BASER_DEVICES : index == 1 ? GITS_BASER_COLLECTIONS : 0;

    return its->tables[index] | type << 56 | UINT64_C(7) << 48;
}

static uint64_t written_table(const struct gic *gic, uint64_t value)
{
    value = gic_table(gic, value) & ~TABLE_KIND;
    if (gic->its.page_size != 3) {
        value = (value & ~UINT64_C(0x300)) | (uint64_t)gic->its.page_size << 8;
    }
    return value;
}

uint64_t gic_its_read(struct gic *gic, const struct gic_access *access)
{
    struct gic_its *its = &gic->its;

    switch (access->offset) {
    case GITS_CTLR:
        return its->control;
    case GITS_TYPER:
        return type_of(its);
    case GITS_CBASER:
        return its->queue;
    case GITS_CREADR:
        its->waited++;
        if (its->delay != 0 && its->waited >= its->delay) {
            its->waited = 0;
            run_commands(its, false, 1);
        }
        return its->reader;
    default:
        gic_model_require(access->offset >= GITS_BASER &&
                              access->offset < GITS_BASER + 8 * GITS_BASER_COUNT,
                          "known registers are read", access->address);
        return read_table(its, (access->offset - GITS_BASER) / 8);
    }
}

void gic_its_write(struct gic *gic, const struct gic_access *access)
{
    struct gic_its *its = &gic->its;
    uint32_t offset = access->offset;

    if (offset == GITS_CTLR) {
        its->control = (uint32_t)access->value & GITS_CTLR_ENABLED;
        its->control |= its->control == 0 ? GITS_CTLR_QUIESCENT : 0;
        return;
    }
    if (offset == GITS_CWRITER) {
        its->writer = access->value & ~GITS_CWRITER_RETRY;
        run_commands(its, (access->value & GITS_CWRITER_RETRY) != 0,
                     its->delay == 0 ? UINT32_MAX : 0);
        return;
    }
    gic_model_require(its->control == GITS_CTLR_QUIESCENT, "tables change while the ITS is at rest",
                      access->address);
    if (offset == GITS_CBASER) {
        gic_model_require((access->value & 0xF000) == 0, "the queue is aligned to 64 KiB",
                          access->address);
        its->queue = gic_table(gic, access->value);
        its->reader = 0;
        return;
    }
    gic_model_require(offset >= GITS_BASER && offset < GITS_BASER + 8 * GITS_BASER_COUNT,
                      "known registers are written", access->address);
    its->tables[(offset - GITS_BASER) / 8] = written_table(gic, access->value);
}
