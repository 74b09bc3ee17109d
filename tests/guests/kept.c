/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts its lives in a record of kept memory. A typed letter ends the life:
 *   r  resets the machine
 *   w  resets it in the middle of a write
 *   f  accesses an address that the machine or partition does not have
 *   v  writes the record in another version, and resets
 *   o  damages one copy of the record, and resets
 *   b  damages both copies, and resets
 */
#include "kernel/kept.h"
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include <arch/mmu.h>
#include <string.h>

#define PADDING 500u

/* Several cache lines, so that a write needs some time. */
struct lives {
    uint64_t count;
    uint8_t padding[PADDING];
};

static const struct kept_format format = {"lives", 1, 1, sizeof(struct lives)};
static const struct kept_format other_format = {"lives", 1, 2, sizeof(struct lives)};
static struct kept_record record;
static struct lives lives;

/* Leaves the older copy as an unfinished write does. */
static void write_in_part(void)
{
    uint8_t *older = (uint8_t *)record.copies[record.newest ^ 1];
    uint64_t begun = ~(record.number + 1);

    memcpy(older, &begun, sizeof(begun));
    memset(older + kept_record_bytes(sizeof(lives)) / 4, 0x5a, sizeof(lives) / 4);
}

/* Nothing is at this address, of the board or of a partition. */
static void access_nothing(void)
{
    uintptr_t address = arch_mmu_map_device(UINT64_C(0x3000000000), PAGE_BYTES);

    if (address != 0) {
        *(volatile uint32_t *)address = 0;
    }
}

static void write_other_version(void)
{
    size_t bytes;

    (void)kept_open_at(&record, record.copies[0], &other_format, &lives, &bytes);
    (void)kept_write(&record, &lives, sizeof(lives));
}

static void damage(unsigned copy)
{
    ((uint8_t *)record.copies[copy])[100] ^= 0x10;
}

static void end(char letter)
{
    switch (letter) {
    case 'w':
        write_in_part();
        break;
    case 'f':
        access_nothing();
        break;
    case 'v':
        write_other_version();
        break;
    case 'b':
        damage(record.newest ^ 1);
        damage(record.newest);
        break;
    case 'o':
        damage(record.newest);
        break;
    default:
        break;
    }
    machine_restart();
}

int application_main(void)
{
    size_t bytes;
    enum kept_start start = kept_open(&record, &format, &lives, &bytes);
    char letter;

    if (kept_is_restored(start) && bytes != sizeof(lives)) {
        return 1;
    }
    print("lives: %llu before this one, %s\n", (unsigned long long)lives.count,
          kept_start_text(start));
    lives.count++;
    memset(lives.padding, (int)lives.count, sizeof(lives.padding));
    print("lives: %s\n", kept_write(&record, &lives, sizeof(lives)) ? "kept" : "not kept");
    if (console_read(&letter, DEADLINE_NONE) == RESULT_OK) {
        end(letter);
    }
    return 1;
}
