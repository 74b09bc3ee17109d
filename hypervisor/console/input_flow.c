/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/input_flow.h"

#include "console/terminal.h"

static struct {
    uint64_t paused_since;                     /* 0: not paused. Atomic */
    uint32_t deaf;                             /* bit i: partition i. Atomic */
    uint32_t lost[DESCRIPTION_PARTITIONS_MAX]; /* bytes. Atomic */
} flow __attribute__((section(".bss.monitor_shared")));

void input_flow_start(void)
{
    flow.paused_since = 0;
    flow.deaf = 0;
}

static bool is_deaf(uint32_t partition)
{
    return (__atomic_load_n(&flow.deaf, __ATOMIC_RELAXED) >> partition & 1u) != 0;
}

static bool is_queue_short(uint32_t partition)
{
    return terminal_key_room(partition) <= INPUT_FLOW_ROOM;
}

bool input_flow_has_to_wait(uint32_t partition)
{
    return is_queue_short(partition) && !is_deaf(partition);
}

void input_flow_pause(uint32_t partition, uint64_t now)
{
    /* In this order: a resume in between leaves a pause that input_flow_watch() ends. */
    terminal_pause_input();
    __atomic_store_n(&flow.paused_since, now | 1, __ATOMIC_RELAXED);
    /* The partition removes keys before it looks for a pause. So at least one of the two sees the
     * other's store. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!is_queue_short(partition)) {
        input_flow_resume();
    }
}

void input_flow_resume(void)
{
    if (input_flow_paused_since() != 0) {
        __atomic_store_n(&flow.paused_since, 0, __ATOMIC_RELAXED);
        terminal_resume_input();
    }
}

uint64_t input_flow_paused_since(void)
{
    return __atomic_load_n(&flow.paused_since, __ATOMIC_RELAXED);
}

void input_flow_watch(const struct description *system, uint64_t now, uint64_t second)
{
    uint64_t since = input_flow_paused_since();
    uint32_t owner = terminal_input_owner();

    if (since == 0 || now - since < second) {
        return;
    }
    if (owner != DESCRIPTION_NO_PARTITION && input_flow_has_to_wait(owner)) {
        (void)__atomic_fetch_or(&flow.deaf, UINT32_C(1) << owner, __ATOMIC_RELAXED);
        terminal_print("%s takes no input: further bytes are lost", system->partitions[owner].name);
    }
    input_flow_resume();
}

void input_flow_lose(uint32_t partition, uint32_t bytes)
{
    if (bytes != 0) {
        (void)__atomic_fetch_add(&flow.lost[partition], bytes, __ATOMIC_RELAXED);
    }
}

void input_flow_take(const struct partition *partition)
{
    uint32_t index = partition->constant.index, bit = UINT32_C(1) << index, lost;

    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* that of input_flow_pause() */
    if (terminal_input_owner() == index) {
        input_flow_resume();
    }
    if (!is_deaf(index) || (__atomic_fetch_and(&flow.deaf, ~bit, __ATOMIC_RELAXED) & bit) == 0) {
        return;
    }
    lost = __atomic_exchange_n(&flow.lost[index], 0, __ATOMIC_RELAXED);
    terminal_print_event(partition, "takes input again; bytes that were lost: %u", lost);
}
