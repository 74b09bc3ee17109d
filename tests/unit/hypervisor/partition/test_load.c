/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests hypervisor/partition/load.c: a partition's memory at each start, as a guest reads it that
 * starts with its caches off.
 *
 * Memory is modelled twice: `cached` is what EL2 reads and writes, `coherent` is the content at the
 * point of coherency. A clean of a line copies it from the first to the second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "entropy/generator.h"
#include "hypervisor/cache.h"
#include "hypervisor/tree_seeds.h"
#include "manager/manager.h"
#include "partition/load.h"
#include <stdbool.h>
#include <string.h>

#define PAGE         UINT64_C(0x1000)
#define MEMORIES     UINT32_C(3)
#define MEMORY_PAGES 70u /* more than two steps */
#define MEMORY_BYTES (MEMORY_PAGES * PAGE)
#define ALL_BYTES    (MEMORIES * MEMORY_BYTES)
#define IMAGES       3u
#define IMAGE_BYTES  (2 * MEMORY_BYTES)
#define GUEST        UINT64_C(0x40000000)
#define APART        UINT64_C(0x1000000) /* guest addresses of the memories */
#define LAYOUTS      60u
#define STEPS_MAX    10000u
#define STEP_MAX     0x20000u
#define SHARED_MAX   0x4000u
#define OLD          0xa5 /* what the last life has left in the caches */
#define OLDER        0x5a /* what it has left in memory */
#define NOP          0x04000000u

static _Alignas(PAGE) uint8_t cached[ALL_BYTES];
static uint8_t coherent[ALL_BYTES], expected[ALL_BYTES], before[ALL_BYTES];
static unsigned writes[ALL_BYTES];
static struct payload {
    struct description description;
    _Alignas(PAGE) uint8_t images[IMAGES * IMAGE_BYTES];
} payload;
static struct partition loaded;
static struct vcpu vcpu;
static uint64_t line, block; /* of the processor; `block` is 0 if DC ZVA is prohibited */
static bool is_pending;      /* a line was cleaned, and cache_complete() was not called */
static unsigned forgotten;
/* The manager's change: the size of the staged image in place of the first image. */
static bool is_replaced, is_destroyed;
static uint64_t staged_bytes;

uint64_t cache_line_bytes(void)
{
    return line;
}

uint64_t cache_block_bytes(void)
{
    return block;
}

static uint64_t offset_of(uint64_t at)
{
    uint64_t offset = at - (uintptr_t)cached;

    assert_in_range(offset, 0, ALL_BYTES - 1);
    return offset;
}

void cache_zero_block(uint64_t at)
{
    assert_int_not_equal(block, 0);
    assert_int_equal(at % block, 0);
    memset(cached + offset_of(at), 0, block);
}

void cache_clean_line(uint64_t at)
{
    uint64_t first = offset_of(at) & ~(line - 1);

    memcpy(coherent + first, cached + first, line);
    is_pending = true;
}

void cache_complete(void)
{
    is_pending = false;
}

void cache_forget_instructions(void)
{
    assert_false(is_pending);
    forgotten++;
}

uint64_t manager_image_bytes(const struct partition *partition,
                             const struct description_image *image)
{
    bool is_first = image == &partition->constant.described->images[0];

    return is_destroyed ? 0 : is_replaced && is_first ? staged_bytes : image->bytes;
}

/* Copies a staged image in one step. It is made of the bytes of the first image and more. */
bool manager_copies(struct partition *partition, uint64_t guest, uint64_t to,
                    struct load_progress *progress)
{
    if (!is_destroyed &&
        (!is_replaced || guest != partition->constant.described->images[0].guest)) {
        return false;
    }
    if (!is_destroyed) {
        memcpy((void *)(uintptr_t)to, payload.images, staged_bytes);
        load_clean(to, to + staged_bytes);
    }
    progress->index++;
    return true;
}

static struct description_partition *described(void)
{
    return &payload.description.partitions[0];
}

/* Returns a number below the limit: the upper bits of a linear congruential generator (Knuth, "The
 * Art of Computer Programming", 3.3.4). */
static uint64_t below(uint64_t limit)
{
    static uint64_t state = 1;

    state = state * UINT64_C(6364136223846793005) + 1;
    return (state >> 33) % limit;
}

static int setup(void **state)
{
    (void)state;
    memset(&payload.description, 0, sizeof(payload.description));
    memset(&loaded, 0, sizeof(loaded));
    memset(&vcpu, 0, sizeof(vcpu));
    for (size_t i = 0; i < sizeof(payload.images); i++) {
        payload.images[i] = (uint8_t)(1 + i % 97); /* neither 0 nor OLD */
    }
    described()->memory_count = 1;
    described()->memories[0] = (struct description_memory){
        .guest = GUEST, .physical = (uintptr_t)cached, .bytes = MEMORY_BYTES};
    loaded.constant.system = &payload.description;
    loaded.constant.described = described();
    vcpu.partition = &loaded;
    line = block = 64;
    is_replaced = is_destroyed = false;
    return 0;
}

static void add_image(uint64_t guest, uint64_t bytes)
{
    uint32_t number = described()->image_count++;

    described()->images[number] = (struct description_image){
        offsetof(struct payload, images) + (uint64_t)number * IMAGE_BYTES, guest, bytes};
}

/* Makes memories of any number of pages, up to two images in the first one and one in the second,
 * and used kept memory at the end. The sizes of images are any, and their beginnings multiples of
 * four bytes. */
static void draw_layout(void)
{
    uint64_t left, first;

    setup(NULL);
    described()->memory_count = MEMORIES;
    for (uint32_t i = 0; i < MEMORIES; i++) {
        described()->memories[i] = (struct description_memory){
            .guest = GUEST + i * APART,
            .physical = (uintptr_t)cached + (uint64_t)i * MEMORY_BYTES,
            .bytes = (2 + below(MEMORY_PAGES - 1)) * PAGE,
            .kept = i == MEMORIES - 1,
        };
    }
    loaded.boot_vcpu.has_kept = below(2) == 0;
    left = described()->memories[0].bytes;
    first = below(left / 8) * 4;
    add_image(GUEST + first, 1 + below(left / 2 - first));
    if (below(2) == 0) { /* the images are not in the order of their addresses */
        first = left / 2 + below(left / 8) * 4;
        add_image(GUEST + first, left - first);
    }
    first = below(described()->memories[1].bytes / 8) * 4;
    add_image(GUEST + APART + first, 1 + below(described()->memories[1].bytes - first));
}

static uint8_t *physical(uint8_t *memory, uint64_t guest)
{
    for (uint32_t i = 0; i < described()->memory_count; i++) {
        uint64_t offset = guest - described()->memories[i].guest;

        if (offset < described()->memories[i].bytes) {
            return memory + offset_of(described()->memories[i].physical) + offset;
        }
    }
    fail();
    return NULL;
}

static bool is_left(const struct description_memory *memory)
{
    return memory->kept != 0 && loaded.boot_vcpu.has_kept;
}

/* Writes to `expected` what the guest has to read. The bytes between memories belong to nobody. */
static void expect_content(void)
{
    memset(cached, OLD, sizeof(cached));
    memset(coherent, OLDER, sizeof(coherent));
    memset(expected, OLDER, sizeof(expected));
    memset(writes, 0, sizeof(writes));
    forgotten = 0;
    for (uint32_t i = 0; i < described()->memory_count; i++) {
        const struct description_memory *memory = &described()->memories[i];

        memset(expected + offset_of(memory->physical), is_left(memory) ? OLD : 0, memory->bytes);
    }
    for (uint32_t i = 0; i < described()->image_count && !is_destroyed; i++) {
        memcpy(physical(expected, described()->images[i].guest),
               payload.images + (size_t)i * IMAGE_BYTES,
               manager_image_bytes(&loaded, &described()->images[i]));
    }
}

/* Counts the bytes that a step has written: those that differ from before. If `poisoned`, each gets
 * its old content again, so that a second write is counted, too. */
static unsigned count_writes(bool poisoned)
{
    unsigned changed = 0;

    for (size_t i = 0; i < ALL_BYTES; i++) {
        if (cached[i] != before[i]) {
            writes[i]++;
            changed++;
            cached[i] = poisoned ? OLD : cached[i];
        }
    }
    return changed;
}

static void load(bool poisoned, unsigned step_max)
{
    struct load_progress progress = {0};
    enum step_outcome outcome = STEP_PENDING;

    expect_content();
    for (unsigned step = 0; outcome == STEP_PENDING; step++) {
        assert_true(step < STEPS_MAX);
        memcpy(before, cached, sizeof(before));
        outcome = load_continue(&vcpu, &progress);
        assert_false(is_pending);
        assert_true(count_writes(poisoned) <= step_max);
    }
    assert_int_equal(outcome, STEP_DONE);
    assert_int_equal(forgotten, 1);
}

static void expect_pristine(void)
{
    for (size_t i = 0; i < ALL_BYTES; i++) {
        if (coherent[i] != expected[i]) {
            fail_msg("byte %#zx is %#x and not %#x", i, coherent[i], expected[i]);
        }
    }
}

/* Lines and blocks of processors: a line is a block, a block is several lines or less than one, and
 * DC ZVA is prohibited. */
static const struct {
    uint64_t line, block;
} processors[] = {{64, 64}, {128, 128}, {64, 128}, {64, 16}, {16, 64}, {32, 0}, {2048, 2048}};

static void guest_reads_pristine_memory(void **state)
{
    (void)state;
    for (unsigned n = 0; n < LAYOUTS; n++) {
        draw_layout();
        line = processors[n % 7].line;
        block = processors[n % 7].block;
        load(false, STEP_MAX);
        expect_pristine();
    }
}

static void each_byte_is_written_once(void **state)
{
    (void)state;
    for (unsigned n = 0; n < LAYOUTS; n++) {
        draw_layout();
        line = processors[n % 7].line;
        block = processors[n % 7].block;
        load(true, STEP_MAX);
        for (uint32_t i = 0; i < MEMORIES; i++) {
            const struct description_memory *memory = &described()->memories[i];

            for (uint64_t at = 0; at < memory->bytes; at++) {
                assert_int_equal(writes[offset_of(memory->physical) + at], !is_left(memory));
            }
        }
    }
}

static void steps_of_shared_cores_are_short(void **state)
{
    (void)state;
    draw_layout();
    loaded.constant.shares_cores = true;
    load(false, SHARED_MAX);
    expect_pristine();
}

/* The bytes that only the description's image would have covered are zeroed. */
static void smaller_image_in_place_of_the_first(void **state)
{
    (void)state;
    add_image(GUEST + 0x80, 0x5001);
    is_replaced = true;
    for (staged_bytes = 0x4f70; staged_bytes < 0x5070; staged_bytes += 0x13) {
        load(false, STEP_MAX);
        expect_pristine();
    }
}

static void memory_of_a_destroyed_partition_is_zeroed(void **state)
{
    (void)state;
    add_image(GUEST + 0x80, 0x5001);
    is_destroyed = true;
    load(false, STEP_MAX);
    expect_pristine();
    assert_int_equal(coherent[0x80], 0);
}

static void images_may_fill_the_memory(void **state)
{
    (void)state;
    add_image(GUEST + MEMORY_BYTES / 2, MEMORY_BYTES / 2);
    add_image(GUEST, MEMORY_BYTES / 2);
    load(false, STEP_MAX);
    expect_pristine();
}

static void seeds_are_cleaned(void **state)
{
    struct tree_seeds seeds;
    uint64_t at = GUEST + 0x104;

    (void)state;
    add_image(GUEST, 0x1000);
    described()->tree_seeds = at;
    load(false, STEP_MAX);
    memcpy(&seeds, physical(coherent, at), sizeof(seeds));
    for (unsigned i = 0; i < sizeof(seeds) / sizeof(uint32_t); i++) {
        assert_int_equal(((const uint32_t *)&seeds)[i], NOP);
    }
    vcpu.generator.is_seeded = true;
    load(false, STEP_MAX);
    memcpy(&seeds, physical(coherent, at), sizeof(seeds));
    assert_memory_equal(&seeds, physical(cached, at), sizeof(seeds));
    assert_memory_not_equal(seeds.rng, physical(expected, at), sizeof(seeds.rng));
}

static void all_lines_of_an_unaligned_part_are_cleaned(void **state)
{
    (void)state;
    for (uint64_t first = 0; first < 2 * line; first += 4) {
        for (uint64_t bytes = 1; bytes < 12 * line; bytes += 7) {
            uint64_t end = first + bytes;

            expect_content();
            load_clean((uintptr_t)cached + first, (uintptr_t)cached + end);
            assert_int_equal(coherent[first], OLD);
            assert_int_equal(coherent[end - 1], OLD);
            assert_int_equal(coherent[(end + line - 1) & ~(line - 1)], OLDER);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(guest_reads_pristine_memory, setup),
        cmocka_unit_test_setup(each_byte_is_written_once, setup),
        cmocka_unit_test_setup(steps_of_shared_cores_are_short, setup),
        cmocka_unit_test_setup(smaller_image_in_place_of_the_first, setup),
        cmocka_unit_test_setup(memory_of_a_destroyed_partition_is_zeroed, setup),
        cmocka_unit_test_setup(images_may_fill_the_memory, setup),
        cmocka_unit_test_setup(seeds_are_cleaned, setup),
        cmocka_unit_test_setup(all_lines_of_an_unaligned_part_are_cleaned, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
