/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/input_flow.h"

#include "console/terminal.h"

static struct {
    uint32_t deaf;                             /* bit i: partition i. Atomic */
    uint32_t lost[DESCRIPTION_PARTITIONS_MAX]; /* bytes. Atomic */
} flow __attribute__((section(".bss.monitor_shared")));

void input_flow_start(void)
{
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
    /* The pause begins, and keys are removed, while the terminal's lock is held. So this core sees
     * the room, or the core that has removed the keys sees the pause: input_flow_make_room(). */
    terminal_pause_input(now);
    if (!is_queue_short(partition)) {
        terminal_resume_input();
    }
}

/* Makes the partition deaf, unless it has removed keys meanwhile. Returns true if it is deaf. */
static bool make_deaf(uint32_t partition)
{
    uint32_t bit = UINT32_C(1) << partition;

    (void)__atomic_fetch_or(&flow.deaf, bit, __ATOMIC_RELAXED);
    /* The partition removes keys before it looks whether it is deaf: input_flow_take(). So at least
     * one of the two sees the other's store. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (is_queue_short(partition)) {
        return true;
    }
    (void)__atomic_fetch_and(&flow.deaf, ~bit, __ATOMIC_RELAXED);
    return false;
}

void input_flow_watch(const struct description *system, uint64_t now, uint64_t second)
{
    uint64_t since = terminal_input_paused_since();
    uint32_t owner = terminal_input_owner();

    /* Another core may have begun the pause after `now`. */
    if (since == 0 || now < since + second) {
        return;
    }
    if (owner != DESCRIPTION_NO_PARTITION && input_flow_has_to_wait(owner) && make_deaf(owner)) {
        terminal_print("%s takes no input: further bytes are lost", system->partitions[owner].name);
    }
    terminal_resume_input();
}

void input_flow_lose(uint32_t partition, uint32_t bytes)
{
    if (bytes != 0) {
        (void)__atomic_fetch_add(&flow.lost[partition], bytes, __ATOMIC_RELAXED);
    }
}

void input_flow_make_room(uint32_t partition)
{
    if (terminal_input_owner() == partition) {
        terminal_resume_input();
    }
}

bool input_flow_report(const struct partition *partition)
{
    uint32_t index = partition->constant.index, bit = UINT32_C(1) << index, lost;

    if (!is_deaf(index) || (__atomic_fetch_and(&flow.deaf, ~bit, __ATOMIC_RELAXED) & bit) == 0) {
        return false;
    }
    lost = __atomic_exchange_n(&flow.lost[index], 0, __ATOMIC_RELAXED);
    terminal_print_event(partition, "takes input again; bytes that were lost: %u", lost);
    return true;
}

void input_flow_take(const struct partition *partition)
{
    input_flow_make_room(partition->constant.index);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* that of make_deaf() */
    (void)input_flow_report(partition);
}
