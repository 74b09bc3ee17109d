/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks on addresses that this partition does not own: loads, stores, instruction fetches and
 * table walks. */
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "rogue.h"
#include <arch/device_access.h>

void attack_read(uint64_t where)
{
    print("read %x\n", device_read32(reach(where, PAGE)));
}

void attack_write(uint64_t where)
{
    device_write32(reach(where, PAGE), 0x600dbad);
}

/* Disables the MMU first, so that stage 1 does not forbid the instruction fetch. */
void attack_execute(uint64_t where)
{
    uint64_t control;

    __asm__ volatile("msr daifset, #0xf\n\t"
                     "mrs %0, sctlr_el1\n\t"
                     "bic %0, %0, #1\n\t"
                     "msr sctlr_el1, %0\n\t"
                     "isb\n\t"
                     "br %1"
                     : "=&r"(control)
                     : "r"(where)
                     : "memory");
}

/* ESR_EL2 describes a load of a pair too little (ISV is 0) for the hypervisor to emulate it. */
void attack_pair(uint64_t where)
{
    uintptr_t at = reach(where, PAGE);
    uint64_t low;
    uint64_t high;

    __asm__ volatile("ldp %0, %1, [%2]" : "=r"(low), "=r"(high) : "r"(at) : "memory");
    print("read %lx %lx\n", (unsigned long)low, (unsigned long)high);
}

void attack_exclusive(uint64_t where)
{
    uintptr_t at = reach(where, PAGE);
    uint32_t failed;

    __asm__ volatile("ldxr %w0, [%1]\n\tstxr %w0, wzr, [%1]" : "=&r"(failed) : "r"(at) : "memory");
    print("exclusive store: %u\n", failed);
}

#define RET        0xd65f03c0u
#define LOAD       0xb9400000u /* ldr w0, [x0] */
#define STORE      0xb9000000u /* str w0, [x0] */
#define LOAD_PAIR  0xa9402000u /* ldp x0, x8, [x0] */
#define CODE_WORDS 2u

/* Needs a partition with `unmapped = "abort"`. Prints syndrome and physical address of each
 * external abort. */
void attack_abort(uint64_t where)
{
    static const struct {
        const char *name;
        uint32_t instruction;
    } accesses[] = {{"read", LOAD}, {"write", STORE}, {"pair", LOAD_PAIR}};
    const size_t count = sizeof accesses / sizeof accesses[0];
    uint64_t syndromes[3] = {0}, addresses[3] = {0}, at = reach(where, PAGE), vectors;
    uint32_t *code = code_allocate(count * CODE_WORDS);
    interrupt_state state;

    for (size_t i = 0; code != NULL && i < count; i++) {
        code[CODE_WORDS * i] = accesses[i].instruction;
        code[CODE_WORDS * i + 1] = RET;
    }
    if (code == NULL || !code_finish(code, count * CODE_WORDS)) {
        print("FAIL: rogue: no memory for code\n");
        return;
    }
    state = interrupts_save();
    __asm__ volatile("msr daifset, #0xf\n\tmrs %0, vbar_el1\n\tmsr vbar_el1, %1\n\tisb"
                     : "=&r"(vectors)
                     : "r"(try_vectors)
                     : "memory");
    for (size_t i = 0; i < count; i++) {
        (void)try_code(&code[CODE_WORDS * i], at, &syndromes[i]);
        __asm__ volatile("mrs %0, far_el1" : "=r"(addresses[i]));
    }
    __asm__ volatile("msr vbar_el1, %0\n\tisb\n\tmsr daifclr, #0xd" : : "r"(vectors) : "memory");
    interrupts_restore(state);
    for (size_t i = 0; i < count; i++) {
        print("%s: %lx at %lx\n", accesses[i].name, (unsigned long)syndromes[i],
              (unsigned long)(addresses[i] - at + where));
    }
}

/* Makes the processor itself read a translation table at `where`: that of the upper half of the
 * address space, which this kernel does not use (Arm ARM, TCR_EL1: EPD1, T1SZ, TG1). */
void attack_walk(uint64_t where)
{
    uint64_t control;

    __asm__ volatile("mrs %0, tcr_el1" : "=r"(control));
    control &= ~(UINT64_C(1) << 23 | UINT64_C(0x3f) << 16 | UINT64_C(3) << 30);
    control |= UINT64_C(25) << 16 | UINT64_C(2) << 30;
    __asm__ volatile("msr ttbr1_el1, %0\n\tmsr tcr_el1, %1\n\tisb\n\ttlbi vmalle1\n\tdsb nsh\n\tisb"
                     :
                     : "r"(where & ~(PAGE - 1)), "r"(control)
                     : "memory");
    print("read %x\n", *(volatile uint32_t *)UINT64_C(0xffffff8000000000));
}
