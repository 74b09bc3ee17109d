/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the GIC's interface that monitors use: resets of interrupts, and enables and pending
 * states of SPIs. */
#include "distributor/distributor.h"
#include "gic/internal.h"
#include "gic/listed.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

/* Polls, some 100 us, after which the GIC counts as stuck. */
#define POLLS_MAX 1000u
/* Polls of a GIC that counts as stuck, some 3 us: enough for one that was slow once. */
#define POLLS_STUCK 32u
/* Waits in a row: 100,000 polls. */
#define LONG_WAITS_MAX 3125u

/* The last wait for the GIC was in vain. Then each wait polls less often, so that no later entry
 * takes long. */
static bool is_stuck __attribute__((section(".bss.monitor_shared")));

struct gic_frame gic_distributor(const struct description *system)
{
    uintptr_t base = (uintptr_t)system->board.distributor;

    return (struct gic_frame){base, base + GICD_CTLR, GICD_CTLR_WRITE_PENDING};
}

struct gic_frame gic_private(const struct description_core *core)
{
    uintptr_t base = (uintptr_t)core->redistributor;

    return (struct gic_frame){base + GIC_FRAME_BYTES, base + GICR_CTLR, GICR_CTLR_WRITE_PENDING};
}

bool gic_wait_clear(uintptr_t address, uint32_t bits)
{
    unsigned polls = __atomic_load_n(&is_stuck, __ATOMIC_RELAXED) ? POLLS_STUCK : POLLS_MAX;
    bool is_set;

    do {
        is_set = (device_read32(address) & bits) != 0;
    } while (is_set && --polls != 0);
    __atomic_store_n(&is_stuck, is_set, __ATOMIC_RELAXED);
    return !is_set;
}

bool gic_wait_long(uintptr_t address, uint32_t bits)
{
    for (unsigned waits = 0; waits < LONG_WAITS_MAX; waits++) {
        if (gic_wait_clear(address, bits)) {
            return true;
        }
    }
    return false;
}

bool gic_silence_interrupts(const struct gic_frame *frame, uint32_t word, uint32_t mask,
                            uint8_t priority)
{
    uintptr_t registers = frame->interrupts + UINT64_C(4) * word;
    bool settled;

    /* After RWP reads as 0, no core is signalled these interrupts any more (IHI 0069,
     * GICD_CTLR.RWP). */
    device_write32(registers + GIC_ICENABLER, mask);
    settled = gic_wait_clear(frame->control, frame->write_pending);
    device_write32(registers + GIC_ICPENDR, mask);
    device_write32(registers + GIC_ICACTIVER, mask);
    for (uint32_t bit = 0; bit < 32; bit++) {
        if ((mask >> bit & 1) != 0) {
            device_write8(frame->interrupts + GIC_IPRIORITYR + UINT64_C(32) * word + bit, priority);
        }
    }
    return settled;
}

void gic_route_to_boot_vcpu(struct partition *partition, uint32_t interrupt)
{
    uintptr_t registers = gic_distributor(partition->constant.system).interrupts;

    distributor_begin_route(partition, interrupt, 0);
    device_write64(registers + GICD_IROUTER + UINT64_C(8) * interrupt,
                   partition_core(partition, 0)->affinity);
    distributor_end_route(partition);
}

#define GROUP_SPIS 8u /* SPIs that a step resets at most */
#define GROUPS     (DESCRIPTION_SPI_WORDS * 32 / GROUP_SPIS)

/* Returns the bits of a word of SPIs that are the partition's, and in the group. */
static uint32_t owned_in_group(const struct partition *partition, uint32_t group)
{
    uint32_t first = group * GROUP_SPIS;

    return partition->constant.interrupts[first / 32] & ((UINT32_C(1) << GROUP_SPIS) - 1)
                                                            << first % 32;
}

enum step_outcome gic_reset_partition(struct partition *partition, uint32_t *group)
{
    const struct gic_frame frame = gic_distributor(partition->constant.system);
    uint32_t owned = 0, word = 0;
    bool settled;

    for (; *group < GROUPS && owned == 0; (*group)++) {
        owned = owned_in_group(partition, *group);
        word = *group * GROUP_SPIS / 32;
    }
    if (owned == 0) {
        partition->atomic.distributor_control = 0;
        listed_reset_partition(partition);
        return __atomic_exchange_n(&partition->atomic.is_unsettled, 0, __ATOMIC_RELAXED) != 0
                   ? STEP_FAILED
                   : STEP_DONE;
    }
    settled = gic_silence_interrupts(&frame, word, owned, PRIORITY_USUAL);
    for (; owned != 0; owned &= owned - 1) {
        gic_route_to_boot_vcpu(partition, 32 * word + (uint32_t)__builtin_ctz(owned));
    }
    return settled ? STEP_PENDING : STEP_FAILED;
}

/* Returns the address of the Distributor's word that has the SPI's bit. `offset`: of a register
 * with a bit for each interrupt. */
static uintptr_t word_of(const struct description *system, uint32_t interrupt, uint32_t offset)
{
    return gic_distributor(system).interrupts + offset + interrupt / 32 * UINT64_C(4);
}

static void set(const struct description *system, uint32_t interrupt, uint32_t offset)
{
    device_write32(word_of(system, interrupt, offset), UINT32_C(1) << interrupt % 32);
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    set(system, interrupt, GIC_ISPENDR);
}

void gic_mask(const struct description *system, uint32_t interrupt)
{
    set(system, interrupt, GIC_ICENABLER);
}

void gic_unmask(const struct description *system, uint32_t interrupt)
{
    set(system, interrupt, GIC_ICPENDR);
    set(system, interrupt, GIC_ISENABLER);
    /* A read of the Distributor completes after the writes before it (Arm ARM, B2.7.2, "Device
     * memory": accesses to one peripheral arrive in program order). */
    (void)device_read32(word_of(system, interrupt, GIC_ISENABLER));
}

bool gic_is_pending(const struct description *system, uint32_t interrupt)
{
    return (device_read32(word_of(system, interrupt, GIC_ISPENDR)) >> interrupt % 32 & 1u) != 0;
}
