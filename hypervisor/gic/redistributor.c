/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/redistributor.h"

#include "gic/gic_registers.h"
#include "gic/internal.h"
#include "gic/interrupts.h"
#include <arch/device_access.h>

/* Returns a word of the RD frame. Registers of LPIs read as zero, and so does GICR_WAKER, which
 * then says that the Redistributor is awake. `last`: GICR_TYPER.Last is set, so that a guest looks
 * for no further Redistributors. */
static uint32_t read_word(uint64_t frame, uint64_t offset, bool last)
{
    uint32_t kept = 0, set = 0;

    if (offset == GICR_CTLR) {
        kept = GICR_CTLR_WRITE_PENDING | GICR_CTLR_UPSTREAM_PENDING;
    } else if (offset == GICR_TYPER) {
        kept = GICR_TYPER_PROCESSOR;
        set = last ? GICR_TYPER_LAST : 0;
    } else if (offset == GICR_IIDR || offset == GICR_TYPER + 4 || offset >= GIC_PIDR) {
        kept = UINT32_MAX;
    }
    return kept == 0 ? 0 : (device_read32((uintptr_t)(frame + offset)) & kept) | set;
}

static enum access_result access_frame(uint64_t frame, bool last, struct access *access)
{
    uint64_t offset = access->offset;

    if (access->write) {
        return access->bytes == 4 && (offset == GICR_WAKER || offset == GICR_CTLR) ? ACCESS_DONE
                                                                                   : ACCESS_REFUSED;
    }
    access->value = 0;
    /* IHI 0069, 12.1.3: word accesses, and 64-bit accesses to 64-bit registers. */
    if (access->bytes < 4 || (access->bytes == 8 && offset != GICR_TYPER)) {
        return ACCESS_REFUSED;
    }
    access->value = read_word(frame, offset, last);
    if (access->bytes == 8) {
        access->value |= (uint64_t)read_word(frame, offset + 4, last) << 32;
    }
    return ACCESS_DONE;
}

static enum access_result access_core(const struct description_core *core, bool last,
                                      struct access *access)
{
    static const uint32_t owned = PRIVATE_GUEST;
    const struct interrupts interrupts = {core->redistributor + GIC_FRAME_BYTES, &owned, 1};

    if (access->offset < GIC_FRAME_BYTES) {
        return access_frame(core->redistributor, last, access);
    }
    access->offset -= GIC_FRAME_BYTES;
    return interrupts_access(&interrupts, access);
}

enum access_result redistributor_access(const struct partition *partition, uint64_t address,
                                        struct access *access)
{
    const struct description *system = partition->system;
    const struct description_core *place = system->cores, *found = NULL;
    uint64_t end = 0;
    bool last = true;

    for (uint32_t i = 0; i < system->core_count; i++) {
        const struct description_core *core = &system->cores[i];

        if (core->partition != partition->index) {
            continue;
        }
        if (address - place->redistributor < REDISTRIBUTOR_BYTES) {
            found = core;
            access->offset = address - place->redistributor;
            end = place->redistributor + REDISTRIBUTOR_BYTES;
        } else if (place->redistributor == end) {
            last = false;
        }
        place++;
    }
    return found != NULL ? access_core(found, last, access) : ACCESS_FORBIDDEN;
}
