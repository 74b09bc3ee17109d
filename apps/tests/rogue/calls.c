/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the firmware and the hypervisor. */
#include "kernel/print.h"
#include "rogue.h"

#define CALLS       1000000u
#define IMMEDIATES  1024u
#define HVC(number) (0xd4000002u | (uint32_t)(number) << 5)
#define SMC(number) (0xd4000003u | (uint32_t)(number) << 5)

#define PSCI_FIRST         UINT64_C(0x84000000)
#define PSCI_CPU_ON        UINT64_C(0xc4000003)
#define PSCI_AFFINITY_INFO UINT64_C(0xc4000004)

static int64_t call(const uint32_t *code, const uint64_t arguments[4])
{
    register uint64_t x0 __asm__("x0") = arguments[0];
    register uint64_t x1 __asm__("x1") = arguments[1];
    register uint64_t x2 __asm__("x2") = arguments[2];
    register uint64_t x3 __asm__("x3") = arguments[3];

    __asm__ volatile("blr %4"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     : "r"(code)
                     : "x30", "memory");
    return (int64_t)x0;
}

/* Both instructions with 0 first, then with any number. */
static uint32_t *make_code(void)
{
    uint32_t *code = code_allocate((size_t)2 * IMMEDIATES);

    for (size_t i = 0; code != NULL && i < IMMEDIATES; i++) {
        uint32_t number = i < 2 ? 0 : (uint32_t)random_next() & 0xffff;

        code[2 * i] = i % 2 == 0 ? HVC(number) : SMC(number);
        code[2 * i + 1] = RET;
    }
    if (code == NULL || !code_finish(code, (size_t)2 * IMMEDIATES)) {
        print("FAIL: rogue: no memory for code\n");
        return NULL;
    }
    return code;
}

static const uint32_t *either(const uint32_t *code, uint64_t which)
{
    return &code[2 * (which % IMMEDIATES)];
}

/* Cores by every affinity of the lowest levels, and by any. */
void attack_power(uint64_t where)
{
    const uint32_t *code = make_code();
    unsigned started = 0, known = 0;

    (void)where;
    for (uint64_t i = 0; code != NULL && i < 10240; i++) {
        uint64_t affinity = i < 1024 ? i : random_next() & UINT64_C(0xff00ffffff) >> i % 40;
        const uint64_t on[4] = {PSCI_CPU_ON, affinity, (uintptr_t)attack_power, 0};
        const uint64_t info[4] = {PSCI_AFFINITY_INFO, affinity, random_next() % 4, 0};

        started += call(either(code, i), on) == 0;
        known += call(either(code, i + 1), info) >= 0 && affinity != 1; /* 1 is its own */
    }
    print("%u cores started, %u known\n", started, known);
}

/* Function numbers that stop this partition, or wait, are its own business: not among them. */
static bool ends(uint32_t function)
{
    function &= ~UINT32_C(0x40000000);
    return function == 0x84000001 || function == 0x84000002 || function == 0x84000008 ||
           function == 0x84000009 || function == 0x84000012 || function == 0x84000003;
}

void attack_calls(uint64_t where)
{
    const uint32_t *code = make_code();
    uint64_t calls = where != 0 ? where : CALLS;

    for (uint64_t i = 0; code != NULL && i < calls; i++) {
        uint64_t arguments[4] = {random_next(), random_next(), random_next(), random_next()};

        if (i % 4 == 0) { /* near those that mean something */
            arguments[0] = PSCI_FIRST | (random_next() & 0x4000003f);
        } else if (i % 4 ==
                   1) { /* of every owner, fast and not (DEN0028, "Function identifiers") */
            arguments[0] = random_next() & 0xff00001f;
        }
        if (!ends((uint32_t)arguments[0])) {
            (void)call(either(code, random_next()), arguments);
        }
    }
    print("%lu calls\n", (unsigned long)calls);
}
