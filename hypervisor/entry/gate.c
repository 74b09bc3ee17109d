/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/gate.h"

#include "hypervisor/registers.h"
#include <arch/wait.h>

#define PATIENCE_SECONDS 10u
/* Bit of no core (DESCRIPTION_CORES_MAX): the gate is shut for ever. */
#define SHUT (UINT32_C(1) << 31)

/* Bit i: core i has not come. The gate is open if it is 0. */
static uint32_t missing_cores __attribute__((section(".bss.monitor_shared")));

void gate_close(uint32_t cores)
{
    __atomic_store_n(&missing_cores, cores, __ATOMIC_RELEASE);
}

bool gate_wait(uint32_t others, uint32_t *missing)
{
    uint64_t start = register_read(cntpct_el0);
    uint64_t patience = PATIENCE_SECONDS * register_read(cntfrq_el0);
    uint32_t left;

    do {
        left = __atomic_load_n(&missing_cores, __ATOMIC_ACQUIRE);
        if ((left & ~others) == 0) {
            return true;
        }
        arch_yield();
    } while (register_read(cntpct_el0) - start < patience);
    /* A core that comes at this moment either has come in time, or finds the gate shut. */
    while ((left & ~others) != 0 &&
           !__atomic_compare_exchange_n(&missing_cores, &left, left | SHUT, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
    }
    *missing = (left & ~others) != 0 ? (uint32_t)__builtin_ctz(left & ~others) : 0;
    return (left & ~others) == 0;
}

void gate_pass(uint32_t core)
{
    (void)__atomic_fetch_and(&missing_cores, ~(UINT32_C(1) << core), __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&missing_cores, __ATOMIC_ACQUIRE) != 0) {
        arch_yield();
    }
}
