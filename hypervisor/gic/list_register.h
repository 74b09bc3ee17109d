/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of a list register (IHI 0069, ICH_LR<n>_EL2). */
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
#define LIST_PHYSICAL_SHIFT 32

/* Returns the value of a list register with an interrupt of Group 1. `number`: INTID. `state`: bits
 * of LIST_STATE; for a PPI or SPI not both. For a PPI or SPI, HW is set. */
static inline uint64_t list_register(uint32_t number, uint32_t priority, uint64_t state)
{
    uint64_t hardware =
        number < GIC_SGI_COUNT ? 0 : LIST_HARDWARE | (uint64_t)number << LIST_PHYSICAL_SHIFT;

    return state | hardware | LIST_GROUP1 | (uint64_t)priority << LIST_PRIORITY_SHIFT | number;
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
