/* SPDX-License-Identifier: BSD-2-Clause */
#include "world_switch/guest_registers.h"

#include "hypervisor/registers.h"

/* EPD0 and EPD1 disable table walks (Arm ARM, TCR_EL1). */
#define TCR_NO_WALKS (UINT64_C(1) << 7 | UINT64_C(1) << 23)

/* Bits of CNTV_CTL_EL0 and CNTP_CTL_EL0 (Arm ARM). */
#define TIMER_ENABLE UINT64_C(1)
#define TIMER_MASKED UINT64_C(2)

#define SAVE(first, second)                                                                \
    {                                                                                      \
        uint64_t first_value = register_read(first), second_value = register_read(second); \
                                                                                           \
        registers->first = first_value;                                                    \
        registers->second = second_value;                                                  \
    }
/* Both values are loaded before either is written, so that the compiler loads them with one
 * instruction. */
#define LOAD(first, second)                                                        \
    {                                                                              \
        uint64_t first_value = registers->first, second_value = registers->second; \
                                                                                   \
        __asm__ volatile("" : "+r"(first_value), "+r"(second_value));              \
        register_write(first, first_value);                                        \
        register_write(second, second_value);                                      \
    }

static void save_translation(struct guest_registers *registers)
{
    GUEST_TRANSLATION(SAVE)
}

static void load_translation(const struct guest_registers *registers)
{
    GUEST_TRANSLATION(LOAD)
}

static void save_exceptions(struct guest_registers *registers)
{
    GUEST_EXCEPTIONS(SAVE)
}

static void load_exceptions(const struct guest_registers *registers)
{
    GUEST_EXCEPTIONS(LOAD)
}

static void save_threads_and_timers(struct guest_registers *registers)
{
    GUEST_THREADS_AND_TIMERS(SAVE)
}

static void load_threads_and_timers(const struct guest_registers *registers)
{
    GUEST_THREADS_AND_TIMERS(LOAD)
}

static void save_pointer_keys(uint64_t *keys)
{
    keys[0] = register_read(APIAKEYLO_EL1);
    keys[1] = register_read(APIAKEYHI_EL1);
    keys[2] = register_read(APIBKEYLO_EL1);
    keys[3] = register_read(APIBKEYHI_EL1);
    keys[4] = register_read(APDAKEYLO_EL1);
    keys[5] = register_read(APDAKEYHI_EL1);
    keys[6] = register_read(APDBKEYLO_EL1);
    keys[7] = register_read(APDBKEYHI_EL1);
    keys[8] = register_read(APGAKEYLO_EL1);
    keys[9] = register_read(APGAKEYHI_EL1);
}

static void load_pointer_keys(const uint64_t *keys)
{
    register_write(APIAKEYLO_EL1, keys[0]);
    register_write(APIAKEYHI_EL1, keys[1]);
    register_write(APIBKEYLO_EL1, keys[2]);
    register_write(APIBKEYHI_EL1, keys[3]);
    register_write(APDAKEYLO_EL1, keys[4]);
    register_write(APDAKEYHI_EL1, keys[5]);
    register_write(APDBKEYLO_EL1, keys[6]);
    register_write(APDBKEYHI_EL1, keys[7]);
    register_write(APGAKEYLO_EL1, keys[8]);
    register_write(APGAKEYHI_EL1, keys[9]);
}

void guest_registers_save(struct guest_registers *registers, bool has_pointer_keys)
{
    registers->tcr_el1 = register_read(tcr_el1);
    save_translation(registers);
    save_exceptions(registers);
    save_threads_and_timers(registers);
    if (has_pointer_keys) {
        save_pointer_keys(registers->pointer_keys);
    }
    register_write(cntv_ctl_el0, 0);
    register_write(cntp_ctl_el0, 0);
    /* EPD0 and EPD1 disable speculative walks of EL1's tables until all registers of the next guest
     * are loaded. A walk with a mixture of both guests' registers would make TLB entries with the
     * wrong VMID (Arm ARM, "Out-of-context translation regimes" permits walks only where the
     * registers allow them). */
    register_write(tcr_el1, registers->tcr_el1 | TCR_NO_WALKS);
    instruction_barrier();
}

void guest_registers_load(const struct guest_registers *registers, bool has_pointer_keys)
{
    load_translation(registers);
    load_exceptions(registers);
    load_threads_and_timers(registers);
    if (has_pointer_keys) {
        load_pointer_keys(registers->pointer_keys);
    }
    instruction_barrier();
    register_write(tcr_el1, registers->tcr_el1);
}

/* Interrupts of the guest's timers (Arm BSA, "PPI assignments"). */
#define PPI_VIRTUAL_TIMER  27u
#define PPI_PHYSICAL_TIMER 30u

/* Returns the time at which a timer expires, or UINT64_MAX if it does not count, or masks its
 * interrupt. */
static uint64_t timer_expiry(uint32_t counted, uint32_t number, uint64_t control, uint64_t value)
{
    return (counted >> number & 1) != 0 && (control & (TIMER_ENABLE | TIMER_MASKED)) == TIMER_ENABLE
               ? value
               : UINT64_MAX;
}

uint64_t guest_registers_expiry(const struct guest_registers *registers, uint32_t counted)
{
    uint64_t virtual = timer_expiry(counted, PPI_VIRTUAL_TIMER, registers->cntv_ctl_el0,
                                    registers->cntv_cval_el0);
    uint64_t physical = timer_expiry(counted, PPI_PHYSICAL_TIMER, registers->cntp_ctl_el0,
                                     registers->cntp_cval_el0);

    return virtual < physical ? virtual : physical;
}

uint64_t guest_registers_expiry_in_core(uint32_t number)
{
    if (number == PPI_VIRTUAL_TIMER) {
        return register_read(cntv_cval_el0);
    }
    return number == PPI_PHYSICAL_TIMER ? register_read(cntp_cval_el0) : UINT64_MAX;
}
