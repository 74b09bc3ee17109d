/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine of guests that have no kernel: the serial line, the counter, and calls to the
 * hypervisor. start.S starts these guests.
 */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include <stdint.h>

/* The PL011 of QEMU's `virt`. */
#define UART_DATA  0x09000000u
#define UART_FLAGS 0x09000018u
#define FLAG_EMPTY (1u << 4)
#define FLAG_FULL  (1u << 5)

/* Arm DEN 0022. */
#define CPU_OFF       UINT64_C(0x84000002)
#define CPU_ON        UINT64_C(0xc4000003)
#define AFFINITY_INFO UINT64_C(0xc4000004)
#define SYSTEM_OFF    UINT64_C(0x84000008)
#define SYSTEM_RESET  UINT64_C(0x84000009)
#define IS_OFF        1

/* The guest's own: it runs on the first core. */
void guest_main(void);

/* The entry of the other cores: CPU_ON's entry point, with a function as the context. */
extern const char guest_other[];

static inline uint32_t read32(uintptr_t address)
{
    return *(volatile uint32_t *)address;
}

static inline void write32(uintptr_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

static inline void print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((read32(UART_FLAGS) & FLAG_FULL) != 0) {
        }
        write32(UART_DATA, (uint8_t)*text);
    }
}

static inline int64_t call(uint64_t function, uint64_t first, uint64_t second, uint64_t third)
{
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = first;
    register uint64_t x2 __asm__("x2") = second;
    register uint64_t x3 __asm__("x3") = third;

    __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
    return (int64_t)x0;
}

static inline uint64_t counter(void)
{
    uint64_t value;

    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value));
    return value;
}

/* Returns the counter's ticks in a second. */
static inline uint64_t counter_frequency(void)
{
    uint64_t frequency;

    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency;
}

/* Returns the number of the core, as the guest sees it. */
static inline unsigned own_number(void)
{
    uint64_t affinity;

    __asm__("mrs %0, mpidr_el1" : "=r"(affinity));
    return affinity & 0xff;
}

#endif
