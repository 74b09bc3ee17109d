/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot_fixture.h"

#include "console/terminal.h"
#include "partition/load.h"
#include <arch/device_access.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POOL_PAGES 64u
#define PROBLEM    5u /* number of a problem */

struct boot_fixture fixture;
static struct page_pool pool;
struct page_pool *boot_pool = &pool;

const char *boot_fixture_check(const struct description *system, uint64_t *value)
{
    assert_ptr_equal(system, &fixture.description);
    *value = PROBLEM;
    return fixture.problem;
}

_Noreturn void boot_refuse(const char *text, uint64_t number)
{
    assert_string_equal(text, fixture.problem);
    assert_int_equal(number, PROBLEM);
    longjmp(fixture.refused, 1);
}

void terminal_explain(const char *text)
{
    assert_string_equal(text, "the board has no memory at");
}

uint32_t device_read32(uintptr_t address)
{
    fixture.probed = address;
    return 0;
}

void boot_map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes)
{
    assert_non_null(root);
    assert_int_equal(attributes, MONITOR_DATA);
    fixture.mapped = start;
    fixture.mapped_bytes = bytes;
    fixture.mappings++;
}

void load_clean(uint64_t at, uint64_t end)
{
    fixture.cleaned = at;
    fixture.cleaned_end = end;
}

void boot_fixture_begin(uint64_t region_bytes)
{
    const size_t bytes = (size_t)((POOL_PAGES + 1) * PAGE_BYTES + region_bytes);

    memset(&fixture, 0, sizeof(fixture));
    fixture.memory = aligned_alloc(PAGE_BYTES, bytes);
    assert_non_null(fixture.memory);
    memset(fixture.memory, BOOT_UNTOUCHED, bytes);
    pool.next = (uint64_t)(uintptr_t)fixture.memory;
    pool.end = pool.next + POOL_PAGES * PAGE_BYTES;
    fixture.physical = pool.end;
    for (uint32_t i = 0; i < BOOT_PARTITIONS; i++) {
        fixture.partitions[i] =
            (struct partition){.constant = {.system = &fixture.description, .index = i}};
    }
}

void boot_fixture_end(void)
{
    free(fixture.memory);
}

uint64_t *boot_fixture_root(void)
{
    return (uint64_t *)(uintptr_t)page_pool_take(&pool, 1);
}
