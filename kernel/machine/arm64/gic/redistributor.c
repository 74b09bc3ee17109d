/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This core's Redistributor. Of other cores' Redistributors only TYPER is read, because a partition
 * does not own them.
 */
#include "gic/gic_private.h"
#include "kernel/devicetree.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <devices/gic_registers.h>

#define REDISTRIBUTOR_BYTES UINT64_C(0x20000) /* RD frame, SGI frame */
#define REGIONS_MAX         64u

bool gic_wait(uintptr_t address, uint32_t mask, uint32_t wanted, unsigned polls)
{
    for (unsigned poll = 0; poll < polls; poll++) {
        if ((device_read32(address) & mask) == wanted) {
            return true;
        }
    }
    return false;
}

bool redistributor_settle(const struct redistributor *redistributor, unsigned polls)
{
    return gic_wait(redistributor->base + GICR_CTLR, GICR_CTLR_WRITE_PENDING, 0, polls);
}

/* Converts the affinity from MPIDR_EL1, where Aff3 is separate, to the form of GICR_TYPER[63:32]
 * (IHI 0069, GICR_TYPER). */
static uint32_t pack_affinity(uint64_t affinity)
{
    return (uint32_t)(affinity >> 8 & 0xFF000000) | (uint32_t)(affinity & 0xFFFFFF);
}

/* Returns the distance between Redistributors if the devicetree names one (binding "arm,gic-v3",
 * `redistributor-stride`), 0 for the architecture's. */
static uint64_t stride_of(int node)
{
    unsigned count;
    const uint32_t *cells = devicetree_cells(node, "redistributor-stride", &count);

    if (cells == NULL || count == 0 || count > 2) {
        return 0;
    }
    return count == 1 ? devicetree_cell(cells)
                      : (uint64_t)devicetree_cell(cells) << 32 | devicetree_cell(cells + 1);
}

/* Searches one region. Returns RESULT_NOT_FOUND if the Redistributor is not in it. */
static enum result search(uint64_t start, uint64_t size, uint64_t stride, uint64_t affinity,
                          struct redistributor *redistributor)
{
    uint64_t offset = 0;

    while (offset < size && size - offset >= REDISTRIBUTOR_BYTES) {
        uintptr_t base = arch_mmu_map_device(start + offset, GIC_FRAME_BYTES);

        if (base == 0) {
            return RESULT_NO_MEMORY;
        }
        redistributor->base = base;
        redistributor->type = device_read32(base + GICR_TYPER);
        if (device_read32(base + GICR_TYPER + 4) == pack_affinity(affinity)) {
            base = arch_mmu_map_device(start + offset + GIC_FRAME_BYTES, GIC_FRAME_BYTES);
            return base != 0 ? RESULT_OK : RESULT_NO_MEMORY;
        }
        if ((redistributor->type & GICR_TYPER_LAST) != 0) {
            break;
        }
        if (stride != 0) {
            offset += stride;
        } else {
            /* IHI 0069, "Redistributor register map": with GICv4 two more frames. */
            bool virtual_lpis = (redistributor->type & GICR_TYPER_VIRTUAL_LPIS) != 0;

            offset += virtual_lpis ? 2 * REDISTRIBUTOR_BYTES : REDISTRIBUTOR_BYTES;
        }
    }
    return RESULT_NOT_FOUND;
}

/* Wakes the Redistributor, because a sleeping one forwards no interrupts (IHI 0069, GICR_WAKER, and
 * chapter 11). With two security states the register reads as zero, which means awake, in the
 * Non-secure view. */
static enum result wake(const struct redistributor *redistributor)
{
    uintptr_t waker = redistributor->base + GICR_WAKER;

    device_write32(waker, device_read32(waker) & ~GICR_WAKER_PROCESSOR_SLEEP);
    return gic_wait(waker, GICR_WAKER_CHILDREN_ASLEEP, 0, GIC_POLLS_MAX) ? RESULT_OK
                                                                         : RESULT_TIMED_OUT;
}

enum result redistributor_init(int node, uint64_t affinity, struct redistributor *redistributor)
{
    uint32_t regions = devicetree_number(node, "#redistributor-regions", 1);
    uint64_t stride = stride_of(node);

    if (stride % GIC_FRAME_BYTES != 0) {
        return RESULT_INVALID;
    }
    for (uint32_t region = 0; region < regions && region < REGIONS_MAX; region++) {
        uint64_t start, size;
        /* reg: the distributor, then the regions. */
        enum result result = devicetree_reg(node, 1 + region, &start, &size);

        if (result == RESULT_OK) {
            result = search(start, size, stride, affinity, redistributor);
        }
        if (result == RESULT_OK) {
            return wake(redistributor);
        }
        if (result != RESULT_NOT_FOUND) {
            return result;
        }
    }
    return RESULT_NOT_FOUND;
}
