/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/load.h"
#include "entropy/generator.h"
#include "hypervisor/cache.h"
#include "hypervisor/tree_seeds.h"
#include "manager/manager.h"
#include "vcpu/same_core.h"

#include <string.h>

/*
 * All of the partition's memory is written by stores to write-back memory, and its lines are then
 * cleaned and invalidated (DC CIVAC), because
 * - a guest starts with its caches off. It must read from memory what is stored here;
 * - a dirty line of the last life, in the cache of any core or device that is coherent, must not be
 *   evicted later over that, or over what the guest writes past its caches. The store takes the
 *   line from all other caches, and the clean leaves no cache with it;
 * - a clean line of the last life would be hit when the guest turns its caches on, after it wrote
 *   to memory past them (Arm ARM, "Mismatched memory attributes"). So cleaning alone (DC CVAC) is
 *   not enough.
 * Nothing makes the lines dirty again before the guest starts: no VCPU of the partition executes,
 * its DMA is blocked, and EL2 stores nothing more there. EL2 may fetch lines without an access
 * (speculation), but they have the new content.
 */

/* Written out, because loops are not unrolled for code that is to be small, and a comparison for
 * each line would take as long as the line. Returns the address after the lines. */
static inline uint64_t clean_four_lines(uint64_t at, uint64_t line)
{
    cache_clean_line(at);
    at += line;
    cache_clean_line(at);
    at += line;
    cache_clean_line(at);
    at += line;
    cache_clean_line(at);
    return at + line;
}

void load_clean(uint64_t at, uint64_t end)
{
    uint64_t line = cache_line_bytes();

    at &= ~(line - 1);
    while (at < end && end - at >= 4 * line) {
        at = clean_four_lines(at, line);
    }
    for (; at < end; at += line) {
        cache_clean_line(at);
    }
    cache_complete();
}

static inline uint64_t zero_four_lines(uint64_t at, uint64_t line)
{
    cache_zero_block(at);
    cache_clean_line(at);
    at += line;
    cache_zero_block(at);
    cache_clean_line(at);
    at += line;
    cache_zero_block(at);
    cache_clean_line(at);
    at += line;
    cache_zero_block(at);
    cache_clean_line(at);
    return at + line;
}

/* Zeroes and cleans [at, end), which consists of blocks that are lines. */
static void zero_lines(uint64_t at, uint64_t end, uint64_t line)
{
    while (end - at >= 4 * line) {
        at = zero_four_lines(at, line);
    }
    for (; at < end; at += line) {
        cache_zero_block(at);
        cache_clean_line(at);
    }
}

static void zero_by_stores(uint64_t at, uint64_t end)
{
    memset((void *)(uintptr_t)at, 0, end - at);
    load_clean(at, end);
}

/* Zeroes [at, end), which is not empty, and cleans it. On most processors DC ZVA zeroes a cache
 * line, which is then cleaned at once, while it is in the nearest cache. On the others memset()
 * zeroes blocks of another size, or words. */
static void zero(uint64_t at, uint64_t end)
{
    uint64_t line = cache_line_bytes();
    uint64_t first = (at + line - 1) & ~(line - 1), last = end & ~(line - 1);

    if (cache_block_bytes() != line || first >= last) {
        zero_by_stores(at, end);
        return;
    }
    if (at != first) {
        zero_by_stores(at, first);
    }
    zero_lines(first, last, line);
    if (last != end) {
        zero_by_stores(last, end);
    }
    cache_complete();
}

/* Bytes that a step handles at most. Zeroing takes 4 instructions for 64 bytes, cleaning 3, copying
 * 10. On a shared core a more urgent VCPU waits for the end of a step. */
#define STEP_BYTES        UINT64_C(0x20000)
#define COPY_STEP_BYTES   UINT64_C(0x10000)
#define SHARED_STEP_BYTES UINT64_C(0x4000)

/* Each byte of the memory is written once: by PHASE_ZERO if no image is copied there, or by
 * PHASE_COPY. The step that writes it cleans it. */
enum phase { PHASE_ZERO, PHASE_COPY, PHASE_SEED, PHASE_DONE };

/* Returns the end of the part of a memory or image that the next step handles. `end`: the furthest
 * end, more than progress->done. */
static uint64_t end_of_part(const struct partition *partition, const struct load_progress *progress,
                            uint64_t end, uint64_t most)
{
    if (partition_shares_cores(partition)) {
        most = SHARED_STEP_BYTES;
    }
    return end - progress->done < most ? end : progress->done + most;
}

/* Counts the current memory or image, of `bytes` bytes, as handled up to `done`. */
static void go_on(struct load_progress *progress, uint64_t done, uint64_t bytes)
{
    progress->done = done;
    if (done == bytes) {
        progress->done = 0;
        progress->index++;
    }
}

/* description_check() has checked that each image lies in one of the memories. */
static uint64_t physical_of(const struct description_partition *described, uint64_t guest)
{
    for (uint32_t i = 0; i < described->memory_count; i++) {
        uint64_t offset = guest - described->memories[i].guest;

        if (offset < described->memories[i].bytes) {
            return described->memories[i].physical + offset;
        }
    }
    return 0;
}

/* A part of a memory: an image that is copied there, or what is between two images. */
struct stretch {
    uint64_t end; /* offset in the memory */
    bool is_copied;
};

static struct stretch stretch_at(const struct partition *partition,
                                 const struct description_memory *memory, uint64_t offset)
{
    const struct description_partition *described = partition->constant.described;
    struct stretch stretch = {memory->bytes, false};

    for (uint32_t i = 0; i < described->image_count; i++) {
        uint64_t bytes = manager_image_bytes(partition, &described->images[i]);
        uint64_t first = described->images[i].guest - memory->guest;

        if (first < memory->bytes && offset - first < bytes) {
            return (struct stretch){first + bytes, true};
        }
        if (first > offset && first < stretch.end) {
            stretch.end = first;
        }
    }
    return stretch;
}

/* Takes the next step of a memory that is not copied: cleans kept memory that the partition has
 * used, because the dirty lines of the last life may be the only copy. Zeroes other memory. */
static void renew(const struct partition *partition, const struct description_memory *memory,
                  struct load_progress *progress)
{
    struct stretch stretch = stretch_at(partition, memory, progress->done);
    uint64_t end = stretch.end;

    if (!stretch.is_copied) {
        end = end_of_part(partition, progress, end, STEP_BYTES);
        if (memory->kept != 0 && partition->boot_vcpu.has_kept) {
            load_clean(memory->physical + progress->done, memory->physical + end);
        } else {
            zero(memory->physical + progress->done, memory->physical + end);
        }
    }
    go_on(progress, end, memory->bytes);
}

static void copy(struct partition *partition, const struct description_image *image,
                 struct load_progress *progress)
{
    const char *images = (const char *)partition->constant.system;
    uint64_t to = physical_of(partition->constant.described, image->guest);
    uint64_t end;

    if (manager_copies(partition, image->guest, to, progress)) {
        return;
    }
    end = end_of_part(partition, progress, image->bytes, COPY_STEP_BYTES);
    memcpy((void *)(uintptr_t)(to + progress->done), images + image->offset + progress->done,
           end - progress->done);
    load_clean(to + progress->done, to + end);
    go_on(progress, end, image->bytes);
}

/* FDT_NOP, big-endian (Devicetree Specification 0.4, 5.4.1). */
#define TREE_NOP __builtin_bswap32(4u)

/* Fills in the seeds of the guest's devicetree for this life. Removes them if there are no random
 * numbers, because the guest would take the zeroes for some. */
static void seed(const struct description_partition *described, struct generator *generator)
{
    uint64_t address =
        described->tree_seeds != 0 ? physical_of(described, described->tree_seeds) : 0;
    struct tree_seeds *seeds = (struct tree_seeds *)(uintptr_t)address;
    uint32_t words[GENERATOR_WORDS];

    if (seeds == NULL) {
        return;
    }
    if (generator->is_seeded) {
        generator_take(generator, words);
        memcpy(seeds->kaslr, words, sizeof(seeds->kaslr));
        generator_take(generator, words);
        memcpy(seeds->rng, words, sizeof(seeds->rng));
        generator_wipe(words, GENERATOR_WORDS);
    } else {
        for (unsigned i = 0; i < sizeof(*seeds) / sizeof(uint32_t); i++) {
            ((volatile uint32_t *)seeds)[i] = TREE_NOP;
        }
    }
    load_clean(address, address + sizeof(*seeds));
}

enum step_outcome load_continue(struct vcpu *boot_vcpu, struct load_progress *progress)
{
    struct partition *partition = boot_vcpu->partition;
    const struct description_partition *described = partition->constant.described;
    uint32_t count =
        progress->phase == PHASE_COPY ? described->image_count : described->memory_count;

    if (progress->phase == PHASE_SEED) {
        seed(described, &boot_vcpu->generator);
        progress->phase++;
    } else if (progress->index == count) {
        progress->index = 0;
        progress->phase++;
    } else if (progress->phase == PHASE_ZERO) {
        renew(partition, &described->memories[progress->index], progress);
    } else {
        copy(partition, &described->images[progress->index], progress);
    }
    if (progress->phase != PHASE_DONE) {
        return STEP_PENDING;
    }
    /* Instructions of the last life may be in the caches of all cores of the partition. */
    cache_forget_instructions();
    return STEP_DONE;
}
