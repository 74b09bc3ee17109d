/* SPDX-License-Identifier: BSD-2-Clause */
/* The kept memory of the partition that had the devices before (kernel/standby.h). */
#include "kept/places.h"
#include "kernel/kept.h"
#include "kernel/print.h"
#include <string.h>

/* The first record of kept memory: how often the devices had moved when it became that of their
 * owner. */
static const struct kept_format format = {
    .name = "owner", .type = 0x6f776e72, .version = 1, .bytes_max = sizeof(uint64_t)};
static struct kept_record record;

/* Returns true if the record, the first one, says that the memory is that of the owner after
 * `moves` moves. */
static bool is_of_owner(uint64_t moves)
{
    uint64_t found;
    size_t bytes;

    kept_forget_places();
    return kept_open(&record, &format, &found, &bytes) == KEPT_RESTORED && bytes == sizeof(found) &&
           found == moves;
}

/* Copies the memory of the other partition, which has stopped or has no devices any more. The copy
 * is then read as that of an earlier life. Returns false if it is not that of the owner before. */
static bool copy_from_other(uint64_t moves)
{
    struct kept_region own, other;

    if (moves == 0 || kept_find_region("bulkhead,kept", &own) != RESULT_OK ||
        kept_find_region("bulkhead,standby-kept", &other) != RESULT_OK ||
        own.bytes != other.bytes) {
        return false;
    }
    memcpy((void *)(uintptr_t)own.address, (const void *)(uintptr_t)other.address,
           (size_t)own.bytes);
    return is_of_owner(moves - 1);
}

static void erase(void)
{
    struct kept_region own;

    if (kept_find_region("bulkhead,kept", &own) == RESULT_OK) {
        memset((void *)(uintptr_t)own.address, 0, (size_t)own.bytes);
    }
    (void)is_of_owner(0);
}

void kept_take_over(uint64_t moves)
{
    struct kept_region own;

    if (kept_find_region("bulkhead,kept", &own) != RESULT_OK) {
        return;
    }
    if (!is_of_owner(moves)) {
        if (copy_from_other(moves)) {
            print("kept: goes on with the kept memory of the other partition\n");
        } else {
            erase();
            print("kept: begins anew\n");
        }
        (void)kept_write(&record, &moves, sizeof(moves));
    }
}
