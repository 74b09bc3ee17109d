/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_gic.h"

#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include <arch/device_access.h>
#include <arch/gic_cpu_interface.h>
#include <arch/mmu.h>
#include <devices/gic_registers.h>
#include <stdlib.h>
#include <string.h>

struct fake_gic fake;

static void watch(const struct gic *gic, const struct gic_access *access)
{
    bool private = access->frame == GIC_REDISTRIBUTOR || access->frame == GIC_PRIVATE;
    bool finds = access->frame == GIC_REDISTRIBUTOR && !access->write &&
                 (access->offset == GICR_TYPER || access->offset == GICR_TYPER + 4);

    (void)gic;
    gic_model_require(!private || finds || access->core == fake.position,
                      "other cores' frames are not touched", access->address);
}

void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
    gic_model_reset(&fake.gic, FAKE_CORES);
    fake.gic.two_securities = true;
    fake.gic.control = GICD_CTLR_AFFINITY_ROUTING;
    fake.gic.watch = watch;
    fake.pages_left = SIZE_MAX;
}

struct gic_redistributor *fake_own(void)
{
    return &fake.gic.redistributors[fake.position];
}

unsigned fake_accesses(void)
{
    return fake.gic.reads + fake.gic.writes;
}

/* The GIC, as the machine is now. */
struct gic *gic_model_in_use(void)
{
    struct gic *gic = &fake.gic;

    gic->type = 8 | (fake.no_lpis ? 0 : GICD_TYPER_LPIS) | 15u << 19; /* 288 numbers, 16 bits */
    gic->redistributor_type = (fake.no_lpis ? 0 : GICR_TYPER_PHYSICAL_LPIS) |
                              (fake.virtual_lpis ? GICR_TYPER_VIRTUAL_LPIS : 0);
    gic->redistributor_bytes = (fake.virtual_lpis ? 4 : 2) * GIC_FRAME_BYTES;
    for (unsigned core = 0; core < FAKE_CORES; core++) {
        gic->redistributors[core].affinity =
            core == fake.position ? fake.affinity : 0xEE0000 + core;
    }
    return gic;
}

void device_publish_uncached(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    fake.cleaned++;
}

bool gic_cpu_use_system_registers(void)
{
    return !fake.legacy;
}

void gic_cpu_start(uint8_t priority_mask)
{
    fake.started = priority_mask;
    fake.priority_mask = priority_mask;
}

void gic_cpu_set_priority_mask(uint8_t priority_mask)
{
    fake.priority_mask = priority_mask;
}

uint32_t gic_cpu_acknowledge(void)
{
    return fake.to_acknowledge;
}

void gic_cpu_end(uint32_t number)
{
    fake.ended = number;
}

uint64_t gic_cpu_affinity(void)
{
    return fake.affinity;
}

uintptr_t arch_mmu_map_device(uint64_t address, size_t bytes)
{
    (void)bytes;
    return (uintptr_t)address;
}

void *page_allocate(size_t count, size_t alignment)
{
    if (count > fake.pages_left) {
        return NULL;
    }
    fake.pages_left -= fake.pages_left == SIZE_MAX ? 0 : count;
    return aligned_alloc(alignment, count * PAGE_BYTES +
                                        (alignment - count * PAGE_BYTES % alignment) % alignment);
}

void page_free(void *memory, size_t count)
{
    fake.pages_left += fake.pages_left == SIZE_MAX ? 0 : count;
    free(memory);
}

void *heap_allocate(size_t bytes)
{
    return malloc(bytes);
}

void *heap_allocate_aligned(size_t bytes, size_t alignment)
{
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void heap_free(void *memory)
{
    free(memory);
}

struct thread {
    int unused;
};

static struct thread holder;

void mutex_init(struct mutex *mutex)
{
    mutex->owner = NULL;
}

enum result mutex_lock(struct mutex *mutex, uint64_t deadline)
{
    (void)deadline;
    gic_model_require(mutex->owner == NULL, "the mutex is free", 0);
    mutex->owner = &holder;
    return RESULT_OK;
}

enum result mutex_unlock(struct mutex *mutex)
{
    mutex->owner = NULL;
    return RESULT_OK;
}

interrupt_state interrupts_save(void)
{
    interrupt_state state = fake.masked ? 1 : 0;

    if (!fake.masked) {
        fake.masked = true;
        fake.masked_before = fake_accesses();
    }
    return state;
}

void interrupts_restore(interrupt_state state)
{
    unsigned count = fake_accesses() - fake.masked_before;

    if (state == 0 && fake.masked) {
        fake.masked = false;
        fake.masked_accesses = count > fake.masked_accesses ? count : fake.masked_accesses;
    }
}

void print(const char *format, ...)
{
    (void)format;
    fake.messages++;
}
