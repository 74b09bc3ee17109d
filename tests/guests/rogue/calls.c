/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the firmware and the hypervisor. */
#include "kernel/print.h"
#include "rogue.h"
#include <arch/hypercalls.h>

#define CALLS         1000000u
#define CALLS_SAMPLED 100000u
#define IMMEDIATES    1024u
#define HVC(number)   (0xd4000002u | (uint32_t)(number) << 5)
#define SMC(number)   (0xd4000003u | (uint32_t)(number) << 5)

/* docs/hypercalls.md: the manager's, and as many numbers behind them. */
#define ORDERS       12u
#define PARTITIONS   (CALL_PARTITIONS_MAX + 1) /* one more than a system has */
#define STAGED_BYTES 4096u

/* docs/hypercalls.md: those of channels, and as many numbers behind them. */
#define CHANNEL_CALLS 4u
#define CHANNELS      17u /* one more than a system has */

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

/* Allocates HVC and SMC instructions in turn. The first of each has immediate 0, the others random
 * ones. */
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

static const uint32_t *code_of(const uint32_t *code, uint64_t which)
{
    return &code[2 * (which % IMMEDIATES)];
}

/* Calls CPU_ON and AFFINITY_INFO with the affinities 0 to 1023, then with random affinities. */
void attack_power(uint64_t where)
{
    const uint32_t *code = make_code();
    unsigned started = 0, known = 0;

    (void)where;
    for (uint64_t i = 0; code != NULL && i < 10240; i++) {
        uint64_t affinity = i < 1024 ? i : random_next() & UINT64_C(0xff00ffffff) >> i % 40;
        const uint64_t on[4] = {PSCI_CPU_ON | CALL_64, affinity, (uintptr_t)attack_power, 0};
        const uint64_t info[4] = {PSCI_AFFINITY_INFO | CALL_64, affinity, random_next() % 4, 0};

        started += call(code_of(code, i), on) == 0;
        known += call(code_of(code, i + 1), info) >= 0 && affinity != 0; /* 0: this VCPU */
    }
    print("%u cores started, %u known\n", started, known);
}

/* Returns true if the PSCI function may stop or suspend this partition itself, which is no
 * attack. */
static bool stops_or_suspends(uint32_t function)
{
    function &= ~UINT32_C(0x40000000);
    return function == 0x84000001 || function == 0x84000002 || function == 0x84000008 ||
           function == 0x84000009 || function == 0x84000012 || function == 0x84000003;
}

void attack_calls(uint64_t where)
{
    const uint32_t *code = make_code();
    uint64_t calls = attack_samples ? CALLS_SAMPLED : CALLS;

    if (where != 0) {
        calls = where;
    }

    for (uint64_t i = 0; code != NULL && i < calls; i++) {
        uint64_t arguments[4] = {random_next(), random_next(), random_next(), random_next()};

        if (i % 4 == 0) { /* a PSCI function or one near it */
            arguments[0] = CALL_OWNER_PSCI | (random_next() & 0x4000003f);
        } else if (i % 4 == 1) {
            /* any owner, fast or yielding (DEN0028, "Function identifiers") */
            arguments[0] = random_next() & 0xff00001f;
        }
        if (!stops_or_suspends((uint32_t)arguments[0])) {
            (void)call(code_of(code, random_next()), arguments);
        }
    }
    print("%lu calls\n", (unsigned long)calls);
}

/* Makes each of `calls` calls from `first` on for each of `objects` numbers, by HVC and by SMC.
 * Prints how many of them were refused. */
static void count_refused(const char *name, uint64_t first, unsigned calls, unsigned objects)
{
    const uint32_t *code = make_code();
    unsigned refused = 0, made = 0;

    for (uint64_t i = 0; code != NULL && i < (uint64_t)calls * objects; i++) {
        const uint64_t arguments[4] = {first + i / objects, i % objects, STAGED_BYTES, 0};

        for (uint64_t instruction = 0; instruction < 2; instruction++) {
            refused += call(code_of(code, instruction), arguments) == CALL_NOT_SUPPORTED;
            made++;
        }
    }
    print("%u of %u %s refused\n", refused, made, name);
}

/* Makes each call of the manager for each partition. */
void attack_orders(uint64_t where)
{
    (void)where;
    count_refused("orders", CALL_PARTITION_STATUS, ORDERS, PARTITIONS);
}

/* Notifies the ends of all channels, and sets their states. */
void attack_channels(uint64_t where)
{
    (void)where;
    count_refused("calls of channels", CALL_CHANNEL_NOTIFY, CHANNEL_CALLS, CHANNELS);
}
