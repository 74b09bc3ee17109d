/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up of the GIC at boot: groups, triggers, the Distributor as a whole. */
#include "gic/internal.h"
#include "gic/listed.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

static const char does_not_settle[] = "the GIC's Distributor does not settle";

static const char *set_control(const struct gic_frame *frame, uint32_t value)
{
    device_write32(frame->control, value);
    return gic_wait_clear(frame->control, frame->write_pending) ? NULL : does_not_settle;
}

/* Enables affinity routing, which is permitted only while both groups are disabled (IHI 0069,
 * GICD_CTLR). With two security states the hypervisor sees Group 1 of its own state only, and DS is
 * RES0. `one_security`: GICD_CTLR_ONE_SECURITY or 0. */
static const char *route_by_affinity(const struct gic_frame *frame, uint32_t one_security)
{
    uint32_t routing = device_read32(frame->control) & GICD_CTLR_AFFINITY_ROUTING;
    const char *wrong = set_control(frame, routing | one_security);

    if (wrong == NULL) {
        wrong = set_control(frame, GICD_CTLR_AFFINITY_ROUTING | one_security);
    }
    if (wrong == NULL && (device_read32(frame->control) & GICD_CTLR_AFFINITY_ROUTING) == 0) {
        wrong = "the GIC has no affinity routing";
    }
    return wrong;
}

/* Returns the bit of an SPI in the word, or 0. `number`: its INTID, or 0: none. */
static uint32_t bit_in_word(uint32_t number, uint32_t word)
{
    return number >= GIC_SPI_FIRST && number / 32 == word ? UINT32_C(1) << number % 32 : 0;
}

/* Returns the SPIs for messages among the 32 interrupts of word `word`. */
static uint32_t message_interrupts(const struct description *system, uint32_t word)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < system->core_count; i++) {
        mask |= bit_in_word(system->cores[i].message_interrupt, word);
    }
    return mask;
}

/* Returns the hypervisor's SPIs among them. */
static uint32_t own_interrupts(const struct description *system, uint32_t word)
{
    return bit_in_word(system->board.uart_interrupt, word) |
           bit_in_word(system->board.smmu_interrupt, word) | message_interrupts(system, word);
}

/* Sets the triggers of 32 interrupts. Each has two bits, of which the upper one is set if the
 * interrupt is edge-triggered (IHI 0069, GICD_ICFGR). */
static void set_triggers(const struct gic_frame *frame, uint32_t word, uint32_t edges)
{
    for (uint32_t half = 0; half < 2; half++, edges >>= 16) {
        uint32_t value = 0;

        for (uint32_t bit = 0; bit < 16; bit++) {
            value |= (edges >> bit & 1) << (2 * bit + 1);
        }
        device_write32(frame->interrupts + GIC_ICFGR + UINT64_C(8) * word + UINT64_C(4) * half,
                       value);
    }
}

/* Sets up 32 SPIs. Those in `own` are in Group 0, routed to `affinity` and enabled. All others are
 * in Group 1 and disabled. Returns false if the Distributor does not settle. */
static bool set_interrupts(const struct gic_frame *frame, uint32_t word, uint32_t own,
                           uint32_t edges, uint64_t affinity)
{
    uintptr_t registers = frame->interrupts + UINT64_C(4) * word;

    if (!gic_silence_interrupts(frame, word, ~own, PRIORITY_USUAL) ||
        !gic_silence_interrupts(frame, word, own, PRIORITY_OWN)) {
        return false;
    }
    device_write32(registers + GIC_IGROUPR, ~own);
    set_triggers(frame, word, edges);
    for (uint32_t bit = 0; bit < 32; bit++) {
        if ((own >> bit & 1) != 0) {
            device_write64(frame->interrupts + GICD_IROUTER + UINT64_C(256) * word +
                               UINT64_C(8) * bit,
                           affinity);
        }
    }
    device_write32(registers + GIC_ISENABLER, own);
    return true;
}

/* Returns the INTID of the first of the interrupts `used` that belongs to the other security state,
 * or 0. Such an interrupt ignores all writes, and its priority reads as 0 (IHI 0069,
 * GICD_IPRIORITYR). */
static uint32_t firmwares_interrupt(const struct gic_frame *frame, uint32_t word, uint32_t used)
{
    for (uint32_t bit = 0; bit < 32; bit++) {
        uint32_t number = 32 * word + bit;
        uintptr_t priority = frame->interrupts + GIC_IPRIORITYR + number;

        if ((used >> bit & 1) != 0) {
            uint8_t before = device_read8(priority);
            uint8_t found;

            device_write8(priority, PRIORITY_USUAL);
            found = device_read8(priority);
            device_write8(priority, before);
            if (found == 0) {
                return number;
            }
        }
    }
    return 0;
}

/* Routes the SPI for messages of each core to it. */
static void route_messages(const struct description *system)
{
    const struct gic_frame frame = gic_distributor(system);

    for (uint32_t i = 0; i < system->core_count; i++) {
        if (system->cores[i].message_interrupt != 0) {
            device_write64(frame.interrupts + GICD_IROUTER +
                               UINT64_C(8) * system->cores[i].message_interrupt,
                           system->cores[i].affinity);
        }
    }
}

/* Returns true if the Redistributor is the core's. */
static bool has_redistributor(const struct description_core *core)
{
    /* The upper half of GICR_TYPER has the affinity, packed into 32 bits (IHI 0069, GICR_TYPER). */
    return device_read32((uintptr_t)core->redistributor + GICR_TYPER + 4) ==
           (uint32_t)((core->affinity >> 8 & 0xff000000) | (core->affinity & 0xffffff));
}

/* Checks each core with a VCPU: reads from its Redistributor, which the core itself starts. */
static const char *check_cores(const struct description *system, bool shares_group1)
{
    for (uint32_t i = 0; i < system->partition_count; i++) {
        const struct description_partition *partition = &system->partitions[i];

        for (uint32_t vcpu = 0; vcpu < partition->vcpu_count; vcpu++) {
            const struct description_core *core = &system->cores[partition->vcpus[vcpu].core];

            if (!has_redistributor(core)) {
                return "a Redistributor is not its core's";
            }
            if (shares_group1 && core->message_interrupt == 0) {
                return "the image was built for a GIC with one security state, not for the one at";
            }
        }
    }
    return NULL;
}

/* Returns true if the ranges have an address in common. */
static bool overlap(uint64_t start, uint64_t bytes, uint64_t other, uint64_t other_bytes)
{
    return start < other + other_bytes && other < start + bytes;
}

/* Switches the Redistributor's LPIs off if a loader has left them on. `place`: gets the address of
 * their pending table, which the Redistributor writes until then. */
static const char *stop_lpis(const struct description *system, const struct description_core *core,
                             uint64_t *place)
{
    uintptr_t base = (uintptr_t)core->redistributor;
    uint32_t control = device_read32(base + GICR_CTLR);
    uint64_t table, bits;

    if ((control & GICR_CTLR_ENABLE_LPIS) == 0) {
        return NULL;
    }
    table = device_read64(base + GICR_PENDBASER) & GICR_PENDBASER_ADDRESS;
    bits = (device_read64(base + GICR_PROPBASER) & GICR_PROPBASER_ID_BITS) + 1;
    *place = table;
    /* The Redistributor may write back what it has cached of the table when LPIs are switched off.
     */
    if (overlap(table, UINT64_C(1) << bits >> 3, system->board.hypervisor,
                system->board.hypervisor_bytes)) {
        return "a loader left LPIs on, with a pending table in the hypervisor's memory, at";
    }
    device_write32(base + GICR_CTLR, control & ~GICR_CTLR_ENABLE_LPIS);
    /* It is IMPLEMENTATION DEFINED whether EnableLPIs can be cleared, so it is read back (IHI 0069,
     * GICR_CTLR.CES). The table is not accessed any more after RWP is clear. */
    if (!gic_wait_long(base + GICR_CTLR, GICR_CTLR_WRITE_PENDING) ||
        (device_read32(base + GICR_CTLR) & GICR_CTLR_ENABLE_LPIS) != 0) {
        return "a loader left LPIs on, and the GIC does not switch them off: pending table at";
    }
    return NULL;
}

/* Switches off the LPIs of all cores, also of those that stay off. */
static const char *stop_all_lpis(const struct description *system, uint64_t *place)
{
    const char *wrong = NULL;

    for (uint32_t i = 0; i < system->core_count && wrong == NULL; i++) {
        wrong = stop_lpis(system, &system->cores[i], place);
    }
    return wrong;
}

/* Sets up all SPIs, and checks that those that the system uses can be. `number`: gets the INTID of
 * the one that can't be. */
static const char *start_interrupts(const struct description *system, const struct gic_frame *frame,
                                    uint64_t affinity, uint64_t *number)
{
    uint32_t last = device_read32(frame->interrupts + GICD_TYPER) & GICD_TYPER_LINES;

    for (uint32_t word = 1; word < DESCRIPTION_SPI_WORDS; word++) {
        uint32_t own = own_interrupts(system, word), used = own, kept;
        /* The SMMU's wired interrupts are edge-triggered (SMMUv3, IHI 0070, "Interrupts and
         * notifications"). */
        uint32_t edges =
            bit_in_word(system->board.smmu_interrupt, word) | message_interrupts(system, word);

        for (uint32_t i = 0; i < system->partition_count; i++) {
            used |= system->partitions[i].interrupts[word];
            edges |= system->partitions[i].edges[word];
        }
        if (word > last) {
            if (used != 0) {
                *number = 32 * word + (uint32_t)__builtin_ctz(used);
                return "the GIC lacks an interrupt that is described, INTID";
            }
            continue;
        }
        if (!set_interrupts(frame, word, own, edges, affinity)) {
            return does_not_settle;
        }
        kept = firmwares_interrupt(frame, word, used);
        if (kept != 0) {
            *number = kept;
            return "the firmware keeps an interrupt that the system uses; "
                   "add it to interrupts of [firmware] in board.toml:";
        }
    }
    return NULL;
}

static const char *start_distributor(const struct description *system, uint64_t affinity,
                                     bool shares_group1, uint64_t *number)
{
    const struct gic_frame frame = gic_distributor(system);
    uint32_t one_security = shares_group1 ? 0 : GICD_CTLR_ONE_SECURITY;
    const char *wrong = route_by_affinity(&frame, one_security);

    if (wrong == NULL) {
        wrong = start_interrupts(system, &frame, affinity, number);
    }
    if (wrong != NULL) {
        return wrong;
    }
    route_messages(system);
    return set_control(&frame, GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_GROUP1 |
                                   (shares_group1 ? 0 : GICD_CTLR_GROUP0) | one_security);
}

const char *gic_start(const struct description *system, uint32_t core, bool *shares_group1,
                      uint64_t *number)
{
    const struct gic_frame frame = gic_distributor(system);
    const char *wrong;

    *number = system->board.distributor;
    *shares_group1 = (device_read32(frame.control) & GICD_CTLR_ONE_SECURITY) == 0;
    if (*shares_group1 && !listed_is_supported()) {
        return "the image has no code for a GIC with two security states, at";
    }
    wrong = check_cores(system, *shares_group1);
    if (wrong == NULL) {
        wrong = stop_all_lpis(system, number);
    }
    return wrong != NULL
               ? wrong
               : start_distributor(system, system->cores[core].affinity, *shares_group1, number);
}
