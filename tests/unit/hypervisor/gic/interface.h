/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CPU interface with list registers (IHI 0069, chapters 4 and 12) on the GIC model: Group 1, and
 * the virtual interface behind it. It belongs to core 1.
 */
#ifndef HYPERVISOR_TEST_INTERFACE_H
#define HYPERVISOR_TEST_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#define INTERFACE_LISTS      4u
#define INTERFACE_NESTED_MAX 32u
#define INTERFACE_NONE       1023u
#define INTERFACE_IDLE       0x100u /* running priority when nothing is active */

struct interface {
    /* Physical. */
    uint32_t mask;      /* ICC_PMR_EL1 */
    uint32_t running;   /* priority of the interrupt that was acknowledged and not dropped */
    bool is_split;      /* EOImode 1 */
    bool is_raw;        /* priorities of this security state are shown as 0x80 | P >> 1 */
    uint32_t lines[32]; /* asserted lines of level-sensitive interrupts */
    /* Virtual. */
    unsigned list_count;
    uint64_t lists[16];
    bool has_written_lists;           /* since the last context synchronization event */
    uint64_t control;                 /* ICH_HCR_EL2 without EOIcount */
    uint32_t ends;                    /* EOIcount */
    bool guest_splits;                /* the guest has EOImode 1 */
    uint64_t guest_control;           /* ICH_VMCR_EL2 but for that */
    bool has_no_trap_of_deactivation; /* ICH_VTR_EL2.TDS is 0 */
    /* Interrupts that the guest has acknowledged and whose priority it has not dropped. */
    struct {
        uint32_t number, priority;
    } nested[INTERFACE_NESTED_MAX];
    unsigned nested_count;
};

void interface_reset(struct interface *interface);

/* A level-sensitive interrupt is pending exactly while its line is asserted. */
void interface_sample(void);
/* Sets or clears a line. */
void interface_set_line(uint32_t number, bool asserted);

/* An exception is taken: a context synchronization event. Later reads of ICH_ELRSR_EL2 see earlier
 * writes to list registers (Arm ARM, "Synchronization requirements for AArch64 System
 * registers"). */
void interface_synchronize(void);

/* Returns true if a Group 1 interrupt is signalled to the hypervisor. */
bool interface_is_signalled(void);
/* Returns true if the maintenance interrupt is asserted. */
bool interface_needs_maintenance(void);

/* Returns true if a list register is pending and not active. */
bool interface_has_pending(void);

/* Returns the priority of the list register that the guest would acknowledge, or INTERFACE_IDLE. */
uint32_t interface_guest_pending(void);
/* The guest reads ICC_IAR1_EL1: the interrupt, or INTERFACE_NONE. */
uint32_t interface_guest_acknowledge(void);
/* The guest writes ICC_EOIR1_EL1 for the interrupt that it acknowledged last. */
void interface_guest_end(void);
/* The guest writes ICC_DIR_EL1, which does not trap. */
void interface_guest_deactivate(uint32_t number);

#endif
