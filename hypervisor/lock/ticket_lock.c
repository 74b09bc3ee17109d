/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypervisor/ticket_lock.h"

#include <arch/wait.h>

void ticket_lock_take(struct ticket_lock *lock, uint64_t patience)
{
    uint32_t ticket = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);

    while (__atomic_load_n(&lock->turn, __ATOMIC_ACQUIRE) != ticket && patience-- != 0) {
        arch_yield();
    }
    __atomic_store_n(&lock->turn, ticket, __ATOMIC_RELAXED);
}

void ticket_lock_give(struct ticket_lock *lock)
{
    __atomic_store_n(&lock->turn, lock->turn + 1, __ATOMIC_RELEASE);
}

bool ticket_lock_try(struct ticket_lock *lock)
{
    uint32_t turn = __atomic_load_n(&lock->turn, __ATOMIC_ACQUIRE), next = turn;

    return __atomic_compare_exchange_n(&lock->next, &next, turn + 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}
