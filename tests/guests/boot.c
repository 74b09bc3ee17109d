/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the state after boot: the mapped memory and its attributes, the free memory, the clock,
 * the boot arguments.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "run_checks.h"
#include "sched/thread_private.h"
#include <arch/image.h>
#include <arch/mmu.h>
#include <string.h>

#define PAR_FAULT UINT64_C(1)

/* Translates an address as for a load or a store, by the processor's own instructions (Arm ARM, AT
 * S1E1R, AT S1E1W). */
static bool is_readable(const void *address)
{
    uint64_t result;

    __asm__ volatile("at s1e1r, %1\n\tisb\n\tmrs %0, par_el1" : "=r"(result) : "r"(address));
    return (result & PAR_FAULT) == 0;
}

static bool is_writable(const void *address)
{
    uint64_t result;

    __asm__ volatile("at s1e1w, %1\n\tisb\n\tmrs %0, par_el1" : "=r"(result) : "r"(address));
    return (result & PAR_FAULT) == 0;
}

/* PAR_EL1.ATTR: as MAIR_EL1 has it. */
static unsigned attributes(const void *address)
{
    uint64_t result;

    __asm__ volatile("at s1e1r, %1\n\tisb\n\tmrs %0, par_el1" : "=r"(result) : "r"(address));
    return (unsigned)(result >> 56);
}

static bool image_is_protected(void)
{
    for (char *page = image_start; page < image_constants_end; page += PAGE_BYTES) {
        CHECK(is_readable(page));
        CHECK(!is_writable(page));
    }
    for (char *page = image_constants_end; page < image_end; page += PAGE_BYTES) {
        CHECK(is_writable(page) == (page != interrupt_stack_guard));
        CHECK(is_readable(page) == (page != interrupt_stack_guard));
    }
    return true;
}

static bool translation_is_on(void)
{
    uint64_t control;

    __asm__("mrs %0, sctlr_el1" : "=r"(control));
    /* M, C, SA, SA0, I, WXN are set; A (alignment check) is not, because memcpy() accesses
     * unaligned words. */
    CHECK((control & 0x8101f) == 0x8101d);
    return true;
}

static bool null_is_unmapped(void)
{
    CHECK(!is_readable(NULL));
    CHECK(!is_readable((const void *)(PAGE_BYTES - 1)));
    CHECK(!arch_mmu_is_mapped(0));
    return true;
}

static bool devicetree_is_constant(void)
{
    CHECK(is_readable(devicetree_blob()));
    CHECK(!is_writable(devicetree_blob()));
    return true;
}

static bool own_stack_has_a_guard(void)
{
    const struct thread *self = thread_current();

    CHECK(is_writable(self->stack));
    CHECK(!is_readable(self->stack - 1));
    CHECK(!is_readable(self->stack - PAGE_BYTES));
    return true;
}

static bool device_is_device(void)
{
    int node = devicetree_next_compatible(-1, "arm,pl011");
    uint64_t address;
    uint64_t bytes;
    const void *registers;

    CHECK(node >= 0 && devicetree_reg(node, 0, &address, &bytes) == RESULT_OK);
    registers = (const void *)arch_mmu_map_device(address, (size_t)bytes);
    CHECK(registers != NULL);
    CHECK(attributes(registers) == 0x04); /* Device-nGnRE */
    CHECK(attributes(interrupt_stack_bottom) == 0xff);
    /* Normal memory cannot be mapped as a device. */
    CHECK(arch_mmu_map_device((uintptr_t)interrupt_stack_bottom, PAGE_BYTES) == 0);
    CHECK(arch_mmu_map_device(arch_mmu_address_limit(), PAGE_BYTES) == 0);
    CHECK(arch_mmu_map_device(UINT64_MAX - 1, PAGE_BYTES) == 0);
    return true;
}

struct page_run {
    struct page_run *next;
    size_t pages;
};

/* Returns the distance between written pages: every page of a small run, few pages of a large one,
 * because the emulator's host has to provide every page that is touched. */
static size_t stride(size_t pages)
{
    return pages <= 32768 ? 1 : 8192;
}

/* Allocates all free memory, largest pieces first, and writes to it: no piece may lie in the image,
 * in the devicetree or beyond the machine's memory. */
static bool free_memory_works(void)
{
    struct page_run *runs = NULL;
    struct memory_statistics before;
    struct memory_statistics after;
    size_t pages = (size_t)1 << 21;

    memory_statistics(&before);
    CHECK(before.page_free_bytes > 32 * (size_t)1048576);
    CHECK(before.page_free_bytes + before.page_used_bytes < before.ram_bytes);
    while (pages > 0) {
        struct page_run *run = page_allocate(pages, PAGE_BYTES);

        if (run == NULL) {
            pages /= 2;
            continue;
        }
        for (size_t i = 0; i < pages; i += stride(pages)) {
            uintptr_t *first = (uintptr_t *)((uintptr_t)run + i * PAGE_BYTES);

            *first = (uintptr_t)first;
            first[PAGE_BYTES / sizeof *first - 1] = (uintptr_t)first;
        }
        *run = (struct page_run){.next = runs, .pages = pages};
        runs = run;
    }
    while (runs != NULL) {
        struct page_run run = *runs;

        for (size_t i = stride(run.pages); i < run.pages; i += stride(run.pages)) {
            const uintptr_t *first = (const uintptr_t *)((uintptr_t)runs + i * PAGE_BYTES);

            CHECK(*first == (uintptr_t)first);
        }
        page_free(runs, run.pages);
        runs = run.next;
    }
    memory_statistics(&after);
    CHECK(after.page_free_bytes == before.page_free_bytes);
    return true;
}

/* Unmaps guard pages and maps them again, also inside blocks, which are split once and stay
 * split. */
static bool guards_split_blocks(void)
{
    enum { COUNT = 16 };
    uint8_t *blocks[COUNT];

    for (unsigned i = 0; i < COUNT; i++) {
        blocks[i] = page_allocate(512, 512 * PAGE_BYTES);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], (int)i, 512 * PAGE_BYTES);
        CHECK(arch_mmu_unmap(blocks[i] + i * PAGE_BYTES, PAGE_BYTES) == RESULT_OK);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        for (unsigned page = 0; page < 512; page++) {
            CHECK(is_writable(blocks[i] + page * PAGE_BYTES) == (page != i));
        }
        CHECK(arch_mmu_remap(blocks[i] + i * PAGE_BYTES, PAGE_BYTES) == RESULT_OK);
        for (size_t byte = 0; byte < 512 * PAGE_BYTES; byte += 61) {
            CHECK(blocks[i][byte] == i);
        }
        page_free(blocks[i], 512);
    }
    return true;
}

/* Does the same inside a block of 1 GiB, on machines with enough memory. */
static bool guards_split_large_blocks(void)
{
    const size_t pages = (size_t)1 << 18;
    uint8_t *block = page_allocate(pages, pages * PAGE_BYTES);
    uint8_t *guard;

    if (block == NULL) {
        return true;
    }
    guard = block + 123456 * PAGE_BYTES;
    memset(guard - PAGE_BYTES, 1, 3 * PAGE_BYTES);
    CHECK(arch_mmu_unmap(guard, PAGE_BYTES) == RESULT_OK);
    CHECK(!is_readable(guard));
    CHECK(is_writable(guard - 1) && is_writable(guard + PAGE_BYTES));
    CHECK(is_writable(block) && is_writable(block + pages * PAGE_BYTES - 1));
    CHECK(guard[-1] == 1 && guard[PAGE_BYTES] == 1);
    CHECK(arch_mmu_remap(guard, PAGE_BYTES) == RESULT_OK);
    CHECK(guard[0] == 1);
    page_free(block, pages);
    print("1 GiB block split\n");
    return true;
}

static bool clock_runs(void)
{
    uint64_t now = time_now();

    CHECK(now > 0);
    thread_sleep_until(now + 3 * NANOSECONDS_PER_MILLISECOND);
    CHECK(time_now() >= now + 3 * NANOSECONDS_PER_MILLISECOND);
    return true;
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"image is protected", image_is_protected},
        {"translation is on", translation_is_on},
        {"NULL is unmapped", null_is_unmapped},
        {"devicetree is constant", devicetree_is_constant},
        {"own stack has a guard", own_stack_has_a_guard},
        {"device is mapped as device", device_is_device},
        {"free memory works", free_memory_works},
        {"guards split blocks", guards_split_blocks},
        {"guards split large blocks", guards_split_large_blocks},
        {"clock runs", clock_runs},
    };
    struct memory_statistics memory;
    int status = run_checks(checks, sizeof checks / sizeof checks[0]);

    memory_statistics(&memory);
    print("boot: image %zu bytes, pages %zu bytes, tables %zu bytes\n", memory.image_bytes,
          memory.page_used_bytes, arch_mmu_table_bytes());
    return status;
}
