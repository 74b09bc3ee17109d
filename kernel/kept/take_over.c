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

/* Returns true if the record, the first one, says that the memory is that of an owner since the
 * devices were adopted last: no other one has served since. `*found`: the moves in the record. */
static bool is_of_owner(uint64_t moves, uint64_t adopted, uint64_t *found)
{
    size_t bytes;

    kept_forget_places();
    return kept_open(&record, &format, found, &bytes) == KEPT_RESTORED && bytes == sizeof(*found) &&
           *found >= adopted && *found <= moves;
}

/* Copies the memory of the other partition, which has stopped or has no devices any more. The copy
 * is then read as that of an earlier life. The record, in the first place, is copied last: until
 * then that of this partition says that its memory is an older one. Returns false if it is not that
 * of an owner since the devices were adopted last. */
static bool copy_from_other(uint64_t moves, uint64_t adopted)
{
    size_t place = kept_record_bytes(format.bytes_max);
    struct kept_region own, other;
    uint64_t found;

    if (moves == 0 || kept_find_region("bulkhead,kept", &own) != RESULT_OK ||
        kept_find_region("bulkhead,standby-kept", &other) != RESULT_OK ||
        own.bytes != other.bytes) {
        return false;
    }
    memcpy((void *)(uintptr_t)(own.address + place),
           (const void *)(uintptr_t)(other.address + place), (size_t)own.bytes - place);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy((void *)(uintptr_t)own.address, (const void *)(uintptr_t)other.address, place);
    return is_of_owner(moves, adopted, &found);
}

static void erase(const struct kept_region *own)
{
    uint64_t found;

    memset((void *)(uintptr_t)own->address, 0, (size_t)own->bytes);
    (void)is_of_owner(0, 0, &found);
}

void kept_take_over(uint64_t moves, uint64_t adopted)
{
    struct kept_region own;
    uint64_t found;

    if (kept_find_region("bulkhead,kept", &own) != RESULT_OK) {
        return;
    }
    if (is_of_owner(moves, adopted, &found)) {
        if (found == moves) {
            return;
        }
        print("kept: goes on with its own memory, because the other partition has not served\n");
    } else if (copy_from_other(moves, adopted)) {
        print("kept: goes on with the kept memory of the other partition\n");
    } else {
        erase(&own);
        print("kept: begins anew\n");
    }
    (void)kept_write(&record, &moves, sizeof(moves));
}
