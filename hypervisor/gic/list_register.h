/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of a list register and of the register that controls them (IHI 0069, ICH_LR<n>_EL2
 * and ICH_HCR_EL2). */
#ifndef GIC_LIST_REGISTER_H
#define GIC_LIST_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

#define GIC_SGI_COUNT     16u
#define GIC_PRIVATE_COUNT 32u

#define LIST_PENDING (UINT64_C(1) << 62)
#define LIST_ACTIVE  (UINT64_C(1) << 63)
#define LIST_STATE   (LIST_PENDING | LIST_ACTIVE) /* both 0: the list register is free */
/* HW: the end of the virtual interrupt deactivates the physical one. */
#define LIST_HARDWARE       (UINT64_C(1) << 61)
#define LIST_GROUP1         (UINT64_C(1) << 60)
#define LIST_PRIORITY_SHIFT 48
#define LIST_NUMBER         UINT64_C(0xffffffff) /* vINTID */
#define LIST_PHYSICAL_SHIFT 32
#define LIST_PHYSICAL       (UINT64_C(0x1fff) << LIST_PHYSICAL_SHIFT) /* pINTID, with HW */
/* EOI, without HW: the end of the virtual interrupt causes a maintenance interrupt. The list
 * register is not free until it is written again (IHI 0069, ICH_ELRSR_EL2). */
#define LIST_END_NOTICE (UINT64_C(1) << 41)

/* ICH_HCR_EL2: causes of a maintenance interrupt, the trap, and the count of ends. */
#define LIST_CONTROL_ENABLE       (UINT64_C(1) << 0)
#define LIST_CONTROL_UNDERFLOW    (UINT64_C(1) << 1)  /* UIE: none or one list register is used */
#define LIST_CONTROL_ABSENT       (UINT64_C(1) << 2)  /* LRENPIE: EOIcount is not 0 */
#define LIST_CONTROL_NONE_PENDING (UINT64_C(1) << 3)  /* NPIE: no list register is pending */
#define LIST_CONTROL_TRAP_COMMON  (UINT64_C(1) << 10) /* TC: registers of both groups trap */
#define LIST_CONTROL_TRAP_DIR \
    (UINT64_C(1) << 14)            /* TDIR: writes to ICC_DIR_EL1 trap, if implemented */
#define LIST_CONTROL_ENDS_SHIFT 27 /* EOIcount: ends of interrupts in no list register */
#define LIST_CONTROL_ENDS       (UINT64_C(0x1f) << LIST_CONTROL_ENDS_SHIFT)

/* Returns the value for an interrupt of the guest. `state`: bits of LIST_STATE; a PPI or SPI is not
 * both pending and active, because its pending state is the GIC's (IHI 0069, ICH_LR<n>_EL2.HW). */
static inline uint64_t list_register(uint32_t number, uint32_t priority, uint64_t state)
{
    uint64_t hardware =
        number < GIC_SGI_COUNT ? 0 : LIST_HARDWARE | (uint64_t)number << LIST_PHYSICAL_SHIFT;

    return state | hardware | LIST_GROUP1 | (uint64_t)priority << LIST_PRIORITY_SHIFT | number;
}

/* Returns the value with which the end of the interrupt enters EL2, and does not deactivate the
 * physical interrupt: for a muted SPI (gic/muted.h). */
static inline uint64_t list_register_with_notice(uint64_t value)
{
    return (value & ~(LIST_HARDWARE | LIST_PHYSICAL)) | LIST_END_NOTICE;
}

/* Returns true if the guest has ended an interrupt whose end enters EL2. */
static inline bool list_register_has_notice(uint64_t value)
{
    return (value & (LIST_STATE | LIST_HARDWARE | LIST_END_NOTICE)) == LIST_END_NOTICE;
}

static inline uint32_t list_register_number(uint64_t value)
{
    return (uint32_t)value;
}

static inline uint32_t list_register_priority(uint64_t value)
{
    return (uint32_t)(value >> LIST_PRIORITY_SHIFT) & 0xff;
}

#endif
