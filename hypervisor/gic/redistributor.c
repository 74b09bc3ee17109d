/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/redistributor.h"

#include "gic/gic_registers.h"
#include "gic/internal.h"
#include "gic/interrupts.h"
#include <arch/device_access.h>

/* Whoever walks through Redistributors goes on with the next frame unless this one is the last; the
 * next may be another partition's. */
static uint32_t last_flag(const struct partition *partition, uint64_t frame)
{
    const struct description *system = partition->system;

    for (uint32_t core = 0; core < system->core_count; core++) {
        if (system->cores[core].partition == partition->index &&
            system->cores[core].redistributor == frame + REDISTRIBUTOR_BYTES) {
            return 0;
        }
    }
    return GICR_TYPER_LAST;
}

/* A word of the RD frame. LPIs are not there, and what is not there reads as zero: GICR_WAKER too,
 * which says awake. */
static uint32_t read_word(const struct partition *partition, uint64_t frame, uint64_t offset)
{
    uint32_t kept = 0, set = 0;

    if (offset == GICR_CTLR) {
        kept = GICR_CTLR_WRITE_PENDING | GICR_CTLR_UPSTREAM_PENDING;
    } else if (offset == GICR_TYPER) {
        kept = GICR_TYPER_PROCESSOR;
        set = last_flag(partition, frame);
    } else if (offset == GICR_IIDR || offset == GICR_TYPER + 4 || offset >= GIC_PIDR) {
        kept = UINT32_MAX;
    }
    return kept == 0 ? 0 : (device_read32((uintptr_t)(frame + offset)) & kept) | set;
}

static enum access_result access_frame(const struct partition *partition, uint64_t frame,
                                       struct access *access)
{
    uint64_t offset = access->offset;

    if (access->write) {
        return access->bytes == 4 && (offset == GICR_WAKER || offset == GICR_CTLR) ? ACCESS_DONE
                                                                                   : ACCESS_REFUSED;
    }
    access->value = 0;
    /* IHI 0069, 12.1.3: words, and the 64-bit registers as a whole. */
    if (access->bytes < 4 || (access->bytes == 8 && offset != GICR_TYPER)) {
        return ACCESS_REFUSED;
    }
    access->value = read_word(partition, frame, offset);
    if (access->bytes == 8) {
        access->value |= (uint64_t)read_word(partition, frame, offset + 4) << 32;
    }
    return ACCESS_DONE;
}

enum access_result redistributor_access(struct partition *partition, uint32_t core,
                                        struct access *access)
{
    static const uint32_t owned = PRIVATE_GUEST;
    uint64_t frame = partition->system->cores[core].redistributor;
    const struct interrupts interrupts = {
        .frame = (uintptr_t)frame + GIC_FRAME_BYTES, .owned = &owned, .words = 1};
    enum access_result result;

    if (access->offset < GIC_FRAME_BYTES) {
        return access_frame(partition, frame, access);
    }
    access->offset -= GIC_FRAME_BYTES;
    result = interrupts_access(&interrupts, access);
    access->offset += GIC_FRAME_BYTES;
    return result;
}
