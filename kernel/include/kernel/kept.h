/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in kept memory: memory of the partition that a restart leaves alone (key `kept` of the
 * system file, docs/kept.md). It is zeroed when the board starts, when the partition is created or
 * destroyed, and when its image is replaced.
 *
 * A record is restored as it was written last, or not at all, wherever the life before has ended.
 * It has two copies, and a write changes only the older one. Each copy has a sequence number, a
 * type, a version, a length and digests (kernel/kept/record.c).
 *
 * The life before may have failed because its memory was corrupt, so a record is read as if a
 * malicious program had written it: each word is loaded once, into the caller's memory, and checked
 * there. Digests find damage; they do not stop a program that calculates them. Therefore a program
 * checks the content that it restores, as it would check a message from another partition.
 *
 * Every life takes the same places in the same order, because nothing in kept memory says where
 * anything is. A place that had another record before is reported by KEPT_OTHER_TYPE.
 */
#ifndef KERNEL_KEPT_H
#define KERNEL_KEPT_H

#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest content of a record. */
#define KEPT_BYTES_MAX ((size_t)1 << 30)

/* Alignment of places, so that the two copies of a record have no cache line in common. */
#define KEPT_ALIGNMENT ((size_t)64)

/* The format of a record. Must stay valid while the record is used. */
struct kept_format {
    const char *name; /* for messages */
    uint32_t type;    /* tells the program's records from each other */
    uint32_t version; /* changes whenever the meaning of the content does */
    size_t bytes_max; /* size of the largest content, up to KEPT_BYTES_MAX */
};

/* The state in which a record was found. */
enum kept_start {
    /* The content was restored: it is the one that was written last. */
    KEPT_RESTORED,
    /* The content was restored from one copy. The other copy is damaged, and may have been newer by
     * one write. */
    KEPT_PERHAPS_OLDER,
    /* Cold start: nothing was written since the memory was zeroed. */
    KEPT_EMPTY,
    /* Cold start: the record in this place has another type, or another version. */
    KEPT_OTHER_TYPE,
    KEPT_OTHER_VERSION,
    /* Cold start: no copy of the record is intact. */
    KEPT_DAMAGED,
    /* Only kept_read(): the record is written at the same time. Another call may succeed. */
    KEPT_CHANGING,
    /* Only kept_open(): the partition has no kept memory, or too little. */
    KEPT_NOWHERE
};

/* A record that the program writes. The owner embeds it. Private. */
struct kept_record {
    struct kept_copy *copies[2]; /* NULL: the record has no memory */
    size_t bytes_max;
    uint64_t kind;   /* type and version, as each copy has them */
    uint64_t number; /* number of the newest write; 0: none */
    unsigned newest; /* index of the copy with it */
};

/*
 * Opens a record in the next free place of the partition's kept memory, and restores its content.
 * `content`: format->bytes_max bytes, which get the content, and zeroes behind it. `*bytes`: gets
 * the length of the content, 0 if none is restored. If none is restored, the place is erased.
 * Prints a line unless the result is KEPT_RESTORED or KEPT_EMPTY. Returns any of the states except
 * KEPT_CHANGING. After KEPT_NOWHERE the program may go on, but kept_write() keeps nothing. Thread
 * context.
 */
enum kept_start kept_open(struct kept_record *record, const struct kept_format *format,
                          void *content, size_t *bytes);

/* Returns true if the state has a content. */
static inline bool kept_is_restored(enum kept_start start)
{
    return start == KEPT_RESTORED || start == KEPT_PERHAPS_OLDER;
}

/*
 * Writes the content of a record: when this returns true, a restart restores it. If the life ends
 * during the call, a restart restores either this content or the one before. Returns false, and
 * keeps the record as it was, if it has no memory or if `bytes` is more than bytes_max. Takes time
 * in proportion to `bytes`. Any context, one call at a time for each
 * record.
 */
bool kept_write(struct kept_record *record, const void *content, size_t bytes);

/* Erases a record, so that the next life finds KEPT_EMPTY. If the life ends during the call, the
 * next life may still find the record, as KEPT_RESTORED or KEPT_PERHAPS_OLDER. Context as for
 * kept_write(). */
void kept_erase(struct kept_record *record);

/* Returns a static, lower-case text for messages ("of another version"); never NULL, any value
 * accepted. */
const char *kept_start_text(enum kept_start start);

/*
 * Takes the next `bytes` > 0 bytes of the partition's kept memory, aligned to KEPT_ALIGNMENT and
 * mapped as normal memory, for data that the program protects itself. `*place`: their address.
 * Returns RESULT_OK, RESULT_NOT_FOUND (no kept memory), RESULT_OVERFLOW (less is left),
 * RESULT_INVALID (a malformed devicetree) or what arch_mmu_map_memory() returns. Thread context.
 */
enum result kept_take(size_t bytes, void **place);

/* Makes the kept memory that of the owner of the partition's devices, which have moved `moves`
 * times between it and its standby (kernel/standby.h). `adopted`: how often when an owner last had
 * its memory so (CALL_DEVICE_STATE). If that was the other partition, its kept memory is copied,
 * and read as that of a life before. If neither is that of an owner, all is zeroed. A life that
 * ends in between does no harm. Takes the first place. Call it before all else of this header.
 * Thread context. */
void kept_take_over(uint64_t moves, uint64_t adopted);

/* Returns the size of the place of a record with up to `bytes_max` bytes; SIZE_MAX if this is more
 * than KEPT_BYTES_MAX. */
size_t kept_record_bytes(size_t bytes_max);

/* Opens a record at `place`, of kept_record_bytes() bytes and aligned to KEPT_ALIGNMENT, as
 * kept_open() does, without a message. */
enum kept_start kept_open_at(struct kept_record *record, void *place,
                             const struct kept_format *format, void *content, size_t *bytes);

/* Reads a record without changing it, as somebody who does not write it: another life's program,
 * or another partition's. The writer may execute at the same time; a reader never gets an older
 * content than it got before. Arguments and content as for kept_open_at(). Returns any of the
 * states except KEPT_NOWHERE. Any context. */
enum kept_start kept_read(const void *place, const struct kept_format *format, void *content,
                          size_t *bytes);

#endif
