/* SPDX-License-Identifier: BSD-2-Clause */
#include "world_switch/interrupts.h"

#include "gic/internal.h"
#include "gic/system_registers.h"
#include "hypervisor/processor.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define ICFGR_PPIS (GIC_ICFGR + 4u)
#define SGI_BITS   0xffffu

/* Defines functions that save and load the active priorities of one group. The register with n = 1
 * exists with at least 6 bits of preemption, those with n = 2 and 3 with 7 (IHI 0069,
 * ICH_AP1R<n>_EL2). */
#define ACTIVE_PRIORITIES(group)                                          \
    static void save_active##group(uint64_t *active, unsigned bits)       \
    {                                                                     \
        active[0] = GIC_REGISTER_READ(ICH_AP##group##R0_EL2);             \
        if (bits >= 6) {                                                  \
            active[1] = GIC_REGISTER_READ(ICH_AP##group##R1_EL2);         \
        }                                                                 \
        if (bits >= 7) {                                                  \
            active[2] = GIC_REGISTER_READ(ICH_AP##group##R2_EL2);         \
            active[3] = GIC_REGISTER_READ(ICH_AP##group##R3_EL2);         \
        }                                                                 \
    }                                                                     \
    static void load_active##group(const uint64_t *active, unsigned bits) \
    {                                                                     \
        GIC_REGISTER_WRITE(ICH_AP##group##R0_EL2, active[0]);             \
        if (bits >= 6) {                                                  \
            GIC_REGISTER_WRITE(ICH_AP##group##R1_EL2, active[1]);         \
        }                                                                 \
        if (bits >= 7) {                                                  \
            GIC_REGISTER_WRITE(ICH_AP##group##R2_EL2, active[2]);         \
            GIC_REGISTER_WRITE(ICH_AP##group##R3_EL2, active[3]);         \
        }                                                                 \
    }

ACTIVE_PRIORITIES(0)
ACTIVE_PRIORITIES(1)

struct interrupt_resources interrupt_resources(const struct vcpu *vcpu)
{
    uint64_t preemption = GIC_REGISTER_READ(ICH_VTR_EL2) & ICH_VTR_PREEMPTION;

    return (struct interrupt_resources){
        .frame = gic_private(partition_core(vcpu->partition, vcpu->number)),
        .lists = (UINT32_C(1) << gic_registers_list_count()) - 1,
        .preemption_bits = (unsigned)(preemption >> 26) + 1,
    };
}

static void save_lists(const struct interrupt_resources *resources, struct saved_interrupts *saved)
{
    unsigned bits = resources->preemption_bits;

    saved->used = ~gic_registers_free_lists() & resources->lists;
    for (uint32_t left = saved->used; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);

        saved->lists[i] = gic_registers_listed(i);
        gic_registers_list(i, 0);
    }
    saved->list_control = GIC_REGISTER_READ(ICH_HCR_EL2);
    saved->machine_control = GIC_REGISTER_READ(ICH_VMCR_EL2);
    save_active0(saved->active0, bits);
    save_active1(saved->active1, bits);
    /* Its maintenance interrupt must not interrupt the next VCPU. */
    GIC_REGISTER_WRITE(ICH_HCR_EL2, 0);
}

static void load_lists(const struct interrupt_resources *resources,
                       const struct saved_interrupts *saved)
{
    unsigned bits = resources->preemption_bits;

    for (uint32_t left = saved->used; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);

        gic_registers_list(i, saved->lists[i]);
    }
    GIC_REGISTER_WRITE(ICH_VMCR_EL2, saved->machine_control);
    load_active0(saved->active0, bits);
    load_active1(saved->active1, bits);
    GIC_REGISTER_WRITE(ICH_HCR_EL2, saved->list_control);
}

/* Returns the address of the first of the two registers that private_settings.priorities[word] has.
 * They have word accesses only (IHI 0069, 12.1.3). */
static uintptr_t priority_words(const struct gic_frame *frame, unsigned word)
{
    return frame->interrupts + GIC_IPRIORITYR + UINT64_C(8) * word;
}

static void save_settings(const struct gic_frame *frame, struct private_settings *settings)
{
    settings->edges = device_read32(frame->interrupts + ICFGR_PPIS);
    for (unsigned word = 0; word < PRIVATE_PRIORITY_WORDS; word++) {
        uintptr_t words = priority_words(frame, word);

        settings->priorities[word] = device_read32(words) | (uint64_t)device_read32(words + 4)
                                                                << 32;
    }
}

static bool are_equal(const uint64_t a[PRIVATE_PRIORITY_WORDS],
                      const uint64_t b[PRIVATE_PRIORITY_WORDS])
{
    _Static_assert(PRIVATE_PRIORITY_WORDS == 4, "each word is compared");
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

/* Loads the settings of private interrupts. Mostly the VCPUs of a core have the same settings, and
 * nothing is written. */
static void load_settings(const struct gic_frame *frame, const struct private_settings *settings,
                          const struct private_settings *last)
{
    if (settings->edges != last->edges) {
        device_write32(frame->interrupts + ICFGR_PPIS, settings->edges);
    }
    if (are_equal(settings->priorities, last->priorities)) {
        return;
    }
    for (unsigned word = 0; word < PRIVATE_PRIORITY_WORDS; word++) {
        uintptr_t words = priority_words(frame, word);
        uint64_t value = settings->priorities[word];

        device_write32(words, (uint32_t)value);
        device_write32(words + 4, (uint32_t)(value >> 32));
    }
}

/* Returns the private interrupts that are edge-triggered: all SGIs, and PPIs by GICR_ICFGR1, which
 * has two bits for each PPI. */
static uint32_t edge_triggered(const struct private_settings *settings)
{
    uint32_t edges = SGI_BITS;

    for (unsigned ppi = 0; ppi < 16; ppi++) {
        edges |= (settings->edges >> (2 * ppi + 1) & 1) << (16 + ppi);
    }
    return edges;
}

/* The VCPU's private interrupts may still be signalled although they are disabled: then the next
 * VCPU of the core would take them. That counts as a device that does not answer. */
static __attribute__((noinline)) void report_unsettled(uint64_t address)
{
    struct processor *processor = processor_this();

    processor->device_syndrome = SYNDROME_UNKNOWN_REASON;
    processor->device_address = address;
}

uint32_t interrupts_save(const struct interrupt_resources *resources, struct vcpu *vcpu,
                         struct saved_interrupts *saved)
{
    /* Copied, so that the compiler need not load it again after each device access. */
    const struct gic_frame frame = resources->frame;
    uint32_t pending, active;

    save_lists(resources, saved);
    saved->enabled = device_read32(frame.interrupts + GIC_ISENABLER) & PRIVATE_GUEST;
    device_write32(frame.interrupts + GIC_ICENABLER, PRIVATE_GUEST);
    if (!gic_wait_clear_in_change(frame.control, frame.write_pending)) {
        report_unsettled(frame.control);
    }
    pending = device_read32(frame.interrupts + GIC_ISPENDR) & PRIVATE_GUEST;
    active = device_read32(frame.interrupts + GIC_ISACTIVER) & PRIVATE_GUEST;
    device_write32(frame.interrupts + GIC_ICPENDR, pending);
    device_write32(frame.interrupts + GIC_ICACTIVER, active);
    saved->pending = pending;
    saved->active = active;
    if (vcpu->list.has_changed) {
        vcpu->list.has_changed = false;
        save_settings(&frame, &saved->settings);
    }
    return pending & saved->enabled & ~active;
}

/* The saved pending state of a level-sensitive interrupt is not loaded: it is the state of the
 * interrupt's line. For example, the interrupt of the VCPU's timer is pending again as soon as the
 * timer is loaded. */
void interrupts_load(const struct interrupt_resources *resources,
                     const struct saved_interrupts *saved, const struct private_settings *last)
{
    const struct gic_frame frame = resources->frame;

    /* The last guest may have cleared SRE, where the implementation lets EL1 do so (IHI 0069,
     * ICC_SRE_EL1). */
    GIC_REGISTER_WRITE(ICC_SRE_EL1, ICC_SRE_OWN);
    load_settings(&frame, &saved->settings, last);
    if (saved->pending != 0) {
        device_write32(frame.interrupts + GIC_ISPENDR,
                       saved->pending & edge_triggered(&saved->settings));
    }
    device_write32(frame.interrupts + GIC_ISACTIVER, saved->active);
    device_write32(frame.interrupts + GIC_ISENABLER, saved->enabled);
    load_lists(resources, saved);
}
