/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/lists.h"

/* Returns the first of the least urgent list registers whose bits of `mask` are `bits`, or
 * LISTS_NONE. */
static unsigned find_least_urgent(const struct lists *lists, uint64_t mask, uint64_t bits)
{
    unsigned found = LISTS_NONE;
    uint32_t least = 0;

    for (unsigned i = 0; i < lists->count; i++) {
        uint32_t priority = list_register_priority(lists->values[i]);

        if ((lists->values[i] & mask) == bits && (found == LISTS_NONE || priority > least)) {
            found = i;
            least = priority;
        }
    }
    return found;
}

unsigned lists_find(const struct lists *lists, uint32_t number)
{
    /* Free list registers are 0, so the group tells interrupt 0 from them. */
    return find_least_urgent(lists, LIST_GROUP1 | LIST_NUMBER, LIST_GROUP1 | number);
}

unsigned lists_find_free(const struct lists *lists)
{
    return find_least_urgent(lists, LIST_STATE, 0);
}

unsigned lists_find_pending(const struct lists *lists)
{
    return find_least_urgent(lists, LIST_STATE, LIST_PENDING);
}

unsigned lists_find_active(const struct lists *lists)
{
    return find_least_urgent(lists, LIST_ACTIVE, LIST_ACTIVE);
}

unsigned lists_count(const struct lists *lists, uint64_t states)
{
    unsigned count = 0;

    for (unsigned i = 0; i < lists->count; i++) {
        count += (lists->values[i] & states) != 0;
    }
    return count;
}

void lists_pend(struct lists *lists, unsigned index)
{
    uint64_t *value = &lists->values[index];

    if (list_register_number(*value) >= GIC_SGI_COUNT) {
        *value &= ~LIST_ACTIVE;
    }
    *value |= LIST_PENDING;
}

unsigned lists_choose(const struct lists *lists, uint32_t priority)
{
    unsigned free = lists_find_free(lists), active = lists_find_active(lists);
    unsigned pending = lists_find_pending(lists);

    if (free != LISTS_NONE) {
        return free;
    }
    if (lists->guest_splits && active != LISTS_NONE) {
        return active;
    }
    if (pending != LISTS_NONE) {
        return list_register_priority(lists->values[pending]) > priority ? pending : LISTS_NONE;
    }
    return lists->running > priority ? active : LISTS_NONE;
}

bool lists_has_aside_before(const struct lists *lists, uint32_t priority)
{
    unsigned pending = lists_find_pending(lists);

    return lists->vcpu->list.has_aside &&
           (pending == LISTS_NONE || list_register_priority(lists->values[pending]) <= priority);
}

void lists_evict(struct lists *lists, unsigned index)
{
    struct interrupt_list *list = &lists->vcpu->list;
    uint64_t value = lists->values[index];
    uint32_t pending = (value & LIST_PENDING) != 0 ? EVICTED_PENDING : 0;

    list->evicted[list->evicted_count++] = (uint16_t)(list_register_number(value) | pending);
    lists->values[index] = 0;
}

uint32_t lists_find_evicted(const struct interrupt_list *list, uint32_t number)
{
    uint32_t i = 0;

    while (i < list->evicted_count && (list->evicted[i] & EVICTED_NUMBER) != number) {
        i++;
    }
    return i;
}

void lists_remove_evicted(struct interrupt_list *list, uint32_t evicted)
{
    for (list->evicted_count--; evicted < list->evicted_count; evicted++) {
        list->evicted[evicted] = list->evicted[evicted + 1];
    }
}

void lists_readmit(struct lists *lists, uint32_t priority, bool has_notice)
{
    struct interrupt_list *list = &lists->vcpu->list;
    uint32_t evicted = list->evicted[--list->evicted_count];
    uint64_t state = (evicted & EVICTED_PENDING) != 0 ? LIST_STATE : LIST_ACTIVE;

    uint64_t value = list_register(evicted & EVICTED_NUMBER, priority, state);

    lists->values[lists_find_free(lists)] = has_notice ? list_register_with_notice(value) : value;
}

void lists_close(struct lists *lists)
{
    unsigned pending = lists_find_pending(lists), kept = 1;

    if (pending == LISTS_NONE) {
        lists->threshold = lists->running;
        kept = LIST_REGISTERS_MIN;
    } else {
        lists->threshold = list_register_priority(lists->values[pending]);
    }
    while (!lists->guest_splits && lists_count(lists, LIST_ACTIVE) > kept) {
        lists_evict(lists, lists_find_active(lists));
    }
}

void lists_open(struct lists *lists)
{
    lists->threshold = LISTS_IDLE;
}

uint64_t lists_control(const struct lists *lists)
{
    bool is_waiting = lists->threshold != LISTS_IDLE;
    bool has_evicted = lists->vcpu->list.evicted_count != 0;
    uint64_t control = LIST_CONTROL_ENABLE, trap = lists->vcpu->list.deactivation_trap;

    if (lists->guest_splits) {
        if (is_waiting) {
            control |= LIST_CONTROL_UNDERFLOW | LIST_CONTROL_NONE_PENDING | trap;
        }
        if (has_evicted) {
            control |= trap;
        }
        return control;
    }
    if (is_waiting) {
        /* If the guest had EOImode 1 until now, its active interrupts may keep the list registers
         * used. */
        control |= LIST_CONTROL_UNDERFLOW | (lists->control & LIST_CONTROL_NONE_PENDING);
    }
    if (has_evicted) {
        control |= LIST_CONTROL_UNDERFLOW | LIST_CONTROL_ABSENT | trap;
    }
    return control;
}
