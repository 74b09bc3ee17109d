/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes some fields of a valid description with colours at a time, and checks the results of
 * colour_check_own() and colour_check(). */
#include "description/colour_check.h"
#include "description_faults.h"
#include "description_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB UINT64_C(0x100000)
#define WAY 0x10000u

#define OWN    "own"
#define NONE   "colours of no memory and no image: physical address"
#define OTHERS "no colours of a cache, or those of others: physical address"
#define BESIDE "colours, and trusted DMA, a shared core or a standby: physical address"
#define PAGES \
    "other colours than its first memory, or pages beyond the address limit: physical address"
#define OVERLAP "memory with colours overlaps: physical address"

#define CONTROL_FIRST 0x60004000u /* the colours 4 to 7 of 16 */
#define LINUX_FIRST   0x60008000u /* the colours 8 to 15 */

#define OWN_COLOURS(field, new_value) SET(own_colours.field, new_value)
#define MEMORY(field, new_value)      SET(colours[0].memories[0].field, new_value)
#define SECOND(field, new_value)      SET(colours[0].memories[1].field, new_value)
#define IMAGE(field, new_value)       SET(colours[0].images[0].field, new_value)
#define LINUX(field, new_value)       SET(colours[1].memories[0].field, new_value)

static const struct description_colours control = {CONTROL_FIRST, 0x4000, WAY};
static const struct description_colours linux_colours = {LINUX_FIRST, 0x8000, WAY};

static struct description_colours at(struct description_colours colours, uint64_t offset)
{
    colours.first += offset;
    return colours;
}

/* `control` has 32 MiB, a page, and two images, in a span of 129 MiB; `linux` has 256 MiB in one of
 * 512 MiB, and an image. */
static void make(struct description *description)
{
    description_make(description);
    description->own_colours = (struct description_colours){0x40001000, 0x1000, WAY};
    description->partitions[0].memories[0].physical = UINT64_C(0x2000000000);
    description->partitions[0].memories[1].physical = UINT64_C(0x2040000000);
    description->partitions[1].memories[0].physical = UINT64_C(0x2080000000);
    description->partitions[1].dma = DESCRIPTION_DMA_NONE;
    description->colours[0].memories[0] = control;
    description->colours[0].memories[1] = at(control, 128 * MIB);
    description->colours[0].images[0] = at(control, 129 * MIB);
    description->colours[0].images[1] = at(control, 130 * MIB);
    description->colours[1].memories[0] = linux_colours;
    description->colours[1].images[0] = at(linux_colours, 512 * MIB);
}

static void make_plain(struct description *description)
{
    description_make(description);
}

static const char *check(const struct description *description, uint64_t *value)
{
    const char *problem = NULL;

    *value = 0;
    if (!colour_check_own(description)) {
        return OWN;
    }
    for (uint32_t i = 0; i < description->partition_count && problem == NULL; i++) {
        problem = colour_check(description, i, value);
    }
    return problem;
}

static const struct description_fault faults[] = {
    {NULL, 0, {{0}}},
    /* The hypervisor's own. */
    {OWN, 0, {OWN_COLOURS(run, 0x800)}},
    {OWN, 0, {OWN_COLOURS(first, 0x40001800)}},
    {OWN, 0, {OWN_COLOURS(period, 0x18000)}},
    {OWN, 0, {OWN_COLOURS(period, 0)}},
    {OWN, 0, {OWN_COLOURS(run, WAY)}},
    {OWN, 0, {OWN_COLOURS(first, 0x4000f000), OWN_COLOURS(run, 0x2000)}},
    {NULL, 0, {OWN_COLOURS(first, 0x40002000), OWN_COLOURS(run, 0x2000)}},
    {OWN, 0, {OWN_COLOURS(first, 0x3fff1000)}},
    {OWN, 0, {OWN_COLOURS(first, 0x41001000)}},
    {OWN, 0, {SET(board.hypervisor_bytes, 16 * MIB - 0x1000)}},
    {OWN, 0, {SET(channel_count, 1)}},
    {OWN, 0, {SET(shared_device_count, 1)}},
    {OWN, 0, {SET(manager.staging_bytes, 0x1000)}},
    /* The run of the hypervisor is 0, so nobody may have colours. */
    {OWN, 0, {OWN_COLOURS(run, 0)}},
    {NONE, CONTROL_FIRST, {OWN_COLOURS(run, 0), OWN_COLOURS(first, 0), OWN_COLOURS(period, 0)}},
    /* Colours that are none, and those of others. */
    {OTHERS, CONTROL_FIRST, {MEMORY(run, 0)}},
    {OTHERS, CONTROL_FIRST, {MEMORY(period, 0x20000)}},
    {OTHERS, CONTROL_FIRST, {MEMORY(run, 0x800)}},
    {OTHERS, CONTROL_FIRST, {MEMORY(run, 0xd000)}},
    {OTHERS, 0x60001000, {MEMORY(first, 0x60001000)}},
    {OTHERS, 0x5fffe000, {MEMORY(first, 0x5fffe000)}},
    {OTHERS, CONTROL_FIRST + 0x800, {MEMORY(first, CONTROL_FIRST + 0x800)}},
    {OTHERS, 0x60007000, {LINUX(first, 0x60007000)}},
    {OTHERS, LINUX_FIRST, {OWN_COLOURS(first, 0x4000f000)}},
    {OTHERS, CONTROL_FIRST, {OWN_COLOURS(first, 0x40007000)}},
    /* Memories and images of a partition have the same colours. */
    {PAGES, 0x68005000, {SECOND(first, 0x68005000)}},
    {PAGES, 0x68004800, {SECOND(first, 0x68004800)}},
    {PAGES, 0x68004000, {SECOND(run, 0x2000)}},
    {PAGES, 0x68004000, {SECOND(period, 0x20000)}},
    {PAGES, 0, {SECOND(first, 0), SECOND(run, 0), SECOND(period, 0)}},
    {PAGES, 0x68104000, {IMAGE(run, 0x1000)}},
    {PAGES, 0x1000000004000, {IMAGE(first, UINT64_C(0x1000000004000))}},
    {PAGES, 0xffffffff4000, {MEMORY(first, UINT64_C(0xffffffff4000))}},
    {NONE, CONTROL_FIRST, {SET(colours[0].memories[2].first, 1)}},
    {NONE, CONTROL_FIRST, {SET(colours[0].images[2].period, 1)}},
    {NONE, LINUX_FIRST, {SET(colours[1].images[3].run, 1)}},
    /* Other memories and images of the partition. */
    {OVERLAP, 0x67ff4000, {SECOND(first, 0x67ff4000)}},
    {OVERLAP, 0x68004000, {IMAGE(first, 0x68004000)}},
    {OVERLAP, 0x67ff4000, {IMAGE(first, 0x67ff4000)}},
    {NULL, 0, {IMAGE(first, 0x68014000)}},
    {OVERLAP, 0x60014000, {IMAGE(first, 0x60014000)}},
    {NULL, 0, {IMAGE(first, 0x70014000)}}, /* between runs of another partition */
    /* The hypervisor, a device, and an address at which EL2 maps a memory. */
    {OVERLAP, 0x40004000, {SECOND(first, 0x40004000)}},
    {OVERLAP, 0x3fff4000, {IMAGE(first, 0x3fff4000)}},
    {NULL, 0, {SECOND(first, 0x3fff4000)}},
    {OVERLAP, 0x8004000, {SECOND(first, 0x8004000)}},
    {OVERLAP, 0x2000004000, {SECOND(first, UINT64_C(0x2000004000))}},
    /* Whatever needs memory of all colours. */
    {BESIDE, LINUX_FIRST, {SET(partitions[1].dma, DESCRIPTION_DMA_TRUSTED)}},
    {NULL, 0, {SET(partitions[1].dma, DESCRIPTION_DMA_SMMU)}},
    {BESIDE, LINUX_FIRST, {SET(partitions[1].vcpus[1].shared, 1)}},
    {BESIDE, CONTROL_FIRST, {SET(partitions[0].standby, 2)}},
};

static const struct description_fault faults_without[] = {
    {NULL, 0, {{0}}},
    {OWN, 0, {OWN_COLOURS(first, 0x40001000)}},
    {OWN, 0, {OWN_COLOURS(period, WAY)}},
    {NONE, 0, {MEMORY(run, 0x1000)}},
    {NONE, 0x1000, {MEMORY(first, 0x1000)}},
    {NONE, 0, {SET(colours[1].images[0].period, WAY)}},
};

static void test_colours(void **state)
{
    (void)state;
    description_expect_faults(faults, sizeof(faults) / sizeof(faults[0]), make, check);
}

static void test_no_colours(void **state)
{
    (void)state;
    description_expect_faults(faults_without, sizeof(faults_without) / sizeof(faults_without[0]),
                              make_plain, check);
}

/* description_check() accepts the description, and reports each of the two checks. */
static void test_whole_description(void **state)
{
    static struct description description;
    struct description_problem problem = {0};

    (void)state;
    make(&description);
    description_seal(&description);
    assert_true(description_check(&description, DESCRIPTION_ROOM, &problem));
    description_exercise(&description, DESCRIPTION_ROOM);
    description.colours[1].memories[0].first = CONTROL_FIRST;
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_string_equal(problem.text, OTHERS);
    assert_int_equal(problem.partition, 1);
    description.own_colours.run = 5;
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_int_equal(problem.partition, DESCRIPTION_NO_PARTITION);
    assert_int_equal(problem.value, 0x40001000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_no_colours),
        cmocka_unit_test(test_whole_description),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
