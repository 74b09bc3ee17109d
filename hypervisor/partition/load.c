/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/load.h"
#include "entropy/generator.h"
#include "hypervisor/registers.h"
#include "hypervisor/tree_seeds.h"
#include "manager/manager.h"
#include "vcpu/same_core.h"

#include <string.h>

/* The smallest line of the data cache; the field is log2 of its words (Arm ARM,
 * CTR_EL0.DminLine). */
#define LINE_BYTES(type) (UINT64_C(4) << ((type) >> 16 & 0xf))

void load_clean(uint64_t at, uint64_t end)
{
    uint64_t step = LINE_BYTES(register_read(ctr_el0));

    do {
        __asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
        at += step;
    } while (at < end);
    __asm__ volatile("dsb sy" : : : "memory");
}

/* Bytes that a step handles at most. On a shared core a more urgent VCPU waits for its end. */
#define STEP_BYTES        UINT64_C(0x20000)
#define SHARED_STEP_BYTES UINT64_C(0x4000)

enum phase { PHASE_ZERO, PHASE_COPY, PHASE_SEED, PHASE_CLEAN, PHASE_DONE };

/* The part of a memory, or of an image, that one step handles. */
struct part {
    uint64_t offset;
    uint64_t bytes;
};

/* Returns the next part of the current memory or image, and counts it as handled. `bytes`: size of
 * the memory or image. */
static struct part next_part(const struct partition *partition, struct load_progress *progress,
                             uint64_t bytes)
{
    uint64_t most = partition_shares_cores(partition) ? SHARED_STEP_BYTES : STEP_BYTES;
    uint64_t left = bytes - progress->done;
    struct part part = {progress->done, left < most ? left : most};

    progress->done += part.bytes;
    if (progress->done == bytes) {
        progress->done = 0;
        progress->index++;
    }
    return part;
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

static void zero(const struct partition *partition, const struct description_memory *memory,
                 struct load_progress *progress)
{
    struct part part;

    if (memory->kept != 0 && partition->boot_vcpu.has_kept) {
        progress->index++;
        return;
    }
    part = next_part(partition, progress, memory->bytes);
    memset((void *)(uintptr_t)(memory->physical + part.offset), 0, part.bytes);
}

static void copy(struct partition *partition, const struct description_image *image,
                 struct load_progress *progress)
{
    const char *images = (const char *)partition->constant.system;
    uint64_t to = physical_of(partition->constant.described, image->guest);
    struct part part;

    if (manager_copies(partition, image->guest, to, progress)) {
        return;
    }
    part = next_part(partition, progress, image->bytes);

    memcpy((void *)(uintptr_t)(to + part.offset), images + image->offset + part.offset, part.bytes);
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
    if (!generator->is_seeded) {
        for (unsigned i = 0; i < sizeof(*seeds) / sizeof(uint32_t); i++) {
            ((volatile uint32_t *)seeds)[i] = TREE_NOP;
        }
        return;
    }
    generator_take(generator, words);
    memcpy(seeds->kaslr, words, sizeof(seeds->kaslr));
    generator_take(generator, words);
    memcpy(seeds->rng, words, sizeof(seeds->rng));
    generator_wipe(words, GENERATOR_WORDS);
}

/* The guest starts with its caches off: it must read the images from memory, and no dirty line may
 * be evicted later over its writes. In kept memory the dirty lines are those of the guest's last
 * life, in the cache of any of its cores. They are written to memory, because they may be the only
 * copy, and invalidated (Arm ARM, DC CIVAC: of all caches of the shareability domain, to the point
 * of coherency). */
static void clean(const struct partition *partition, const struct description_memory *memory,
                  struct load_progress *progress)
{
    struct part part = next_part(partition, progress, memory->bytes);

    load_clean(memory->physical + part.offset, memory->physical + part.offset + part.bytes);
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
        zero(partition, &described->memories[progress->index], progress);
    } else if (progress->phase == PHASE_COPY) {
        copy(partition, &described->images[progress->index], progress);
    } else {
        clean(partition, &described->memories[progress->index], progress);
    }
    if (progress->phase != PHASE_DONE) {
        return STEP_PENDING;
    }
    __asm__ volatile("ic ialluis\n\tdsb ish\n\tisb" : : : "memory");
    return STEP_DONE;
}
