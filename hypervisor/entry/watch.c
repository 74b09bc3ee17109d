/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/watch.h"

#include "bandwidth/bandwidth.h"
#include "console/input_flow.h"
#include "console/terminal.h"
#include "gic/setup.h"
#include "partition/recall.h"
#include "partition/refused_dma.h"
#include "scheduler/scheduler.h"
#include "smmu/smmu.h"
#include "vcpu/same_core.h"
#include "watchdog/watchdog.h"

enum overdue { OVERDUE_UART = 1, OVERDUE_SMMU = 2 };

/* Returns the core that takes over the interrupt of the SMMU: this one, if its partition has access
 * to the events. Otherwise each call returns the boot core of the next partition that has. */
static uint32_t next_reader(struct processor *processor)
{
    const struct description *system = processor->vcpu->partition->constant.system;

    for (uint32_t i = 0;
         i < system->partition_count && processor->vcpu->partition->constant.smmu.events == 0;
         i++) {
        processor->reader = (processor->reader + 1) % system->partition_count;
        if (smmu_confined(&system->partitions[processor->reader]) != 0) {
            return description_boot_core(&system->partitions[processor->reader]);
        }
    }
    return processor->index;
}

/* Routes the interrupt to another core if it was pending at the last check, too. */
static void look_at(struct processor *processor, uint32_t number, enum overdue kind)
{
    const struct description *system = processor->vcpu->partition->constant.system;

    if (number == 0 || !gic_is_pending(system, number)) {
        processor->overdue &= ~(uint32_t)kind;
        return;
    }
    if ((processor->overdue & kind) != 0) {
        gic_route(system, number, kind == OVERDUE_UART ? processor->index : next_reader(processor));
    }
    processor->overdue |= kind;
}

/* Ends the pauses of the hypervisor's interrupts that have lasted for a second. */
static void end_pauses(const struct processor *processor)
{
    refused_dma_watch(processor->vcpu);
    input_flow_watch(processor->vcpu->partition->constant.system, register_read(cntpct_el0),
                     register_read(cntfrq_el0));
}

void watch_look_on_own_core(struct processor *processor)
{
    const struct description_board *board = &processor->vcpu->partition->constant.system->board;
    uint64_t now = register_read(cntpct_el0);

    if (now - processor->looked < register_read(cntfrq_el0)) {
        return;
    }
    processor->looked = now;
    look_at(processor, board->uart_interrupt, OVERDUE_UART);
    if (smmu_paused_since() == 0) {
        look_at(processor, board->smmu_interrupt, OVERDUE_SMMU);
    }
    end_pauses(processor);
}

/* Sets the timer of a processor that is not shared. */
static void set_timer(const struct processor *processor)
{
    register_write(cnthp_cval_el2, processor->work_due);
    register_write(cnthp_ctl_el2, processor->work_due != 0);
    instruction_barrier(); /* the timer's line is low before an interrupt is acknowledged or ends */
}

/* Returns the time at which the first pause ends, or UINT64_MAX: there is none. */
static uint64_t first_end(void)
{
    uint64_t dma = smmu_paused_since(), input = terminal_input_paused_since();
    uint64_t first = input == 0 || (dma != 0 && dma < input) ? dma : input;

    return first != 0 ? first + register_read(cntfrq_el0) : UINT64_MAX;
}

void watch_set_timer(struct processor *processor)
{
    uint64_t pauses = first_end(), watchdogs = watchdog_due(processor);
    uint64_t due = watchdogs < pauses ? watchdogs : pauses, window = bandwidth_due(processor);

    due = window < due ? window : due;
    if (due == UINT64_MAX) { /* a pause has ended already */
        return;
    }
    if (processor->shared != NULL) {
        scheduler_set_work_due(processor, due);
        return;
    }
    processor->work_due = due;
    set_timer(processor);
}

void watch_do_due_work(struct processor *processor)
{
    watchdog_call_due(processor);
    bandwidth_do_due_work(processor);
    end_pauses(processor);
    watch_set_timer(processor); /* for the others */
}

void watch_handle_timer(struct processor *processor)
{
    processor->work_due = 0;
    set_timer(processor);
    watch_do_due_work(processor);
}

/* Returns true if the monitors of the partition have access to the device of the interrupt. */
static bool has_access(const struct description *system, uint32_t partition, enum overdue kind)
{
    return kind == OVERDUE_UART || partition == description_first_listed(system) ||
           smmu_confined(&system->partitions[partition]) != 0;
}

/* Returns the partition whose boot core takes over the interrupt, or DESCRIPTION_NO_PARTITION if
 * the boot cores of all partitions with access to its device have halted. One that can't shut the
 * core is preferred. */
static uint32_t successor(const struct description *system, enum overdue kind)
{
    uint32_t found = DESCRIPTION_NO_PARTITION;

    for (uint32_t i = 0; i < system->partition_count; i++) {
        const struct description_partition *partition = &system->partitions[i];

        if (!has_access(system, i, kind) || gic_has_halted(description_boot_core(partition))) {
            continue;
        }
        if (description_has_listed_interrupts(partition)) {
            return i;
        }
        found = i;
    }
    return found;
}

/* Routes the interrupt to another core if it is routed to this one, which has halted. The successor
 * may halt at the same time: then it has taken over nothing yet, and another one is found. If this
 * core was handling the interrupt, which it may have routed to another core before, ends it. */
static void hand_over(const struct processor *processor, uint32_t number, enum overdue kind)
{
    const struct description *system = processor->vcpu->partition->constant.system;
    uint32_t partition;

    if (number == 0) {
        return;
    }
    do {
        partition = successor(system, kind);
    } while (partition != DESCRIPTION_NO_PARTITION &&
             !gic_take_over(system, number, processor->index,
                            description_boot_core(&system->partitions[partition])));
    if (processor->handled_spi == number) {
        gic_end_for_halted(system, number);
    }
}

void watch_leave(const struct processor *processor)
{
    const struct partition *partition = processor->vcpu->partition;
    const struct description_board *board = &partition->constant.system->board;

    if (!gic_record_halt(processor->index)) { /* by an exception in this function */
        return;
    }
    hand_over(processor, board->uart_interrupt, OVERDUE_UART);
    hand_over(processor, board->smmu_interrupt, OVERDUE_SMMU);
    recall_repeat_calls(processor->vcpu);
    terminal_resume_input();
    if (smmu_paused_since() != 0) {
        smmu_resume_events(partition);
    }
}

void watch_begin_wait(const struct processor *processor)
{
    uint64_t limit = register_read(cntpct_el0) + register_read(cntfrq_el0);

    if (processor->shared == NULL) {
        if (processor->work_due != 0 && processor->work_due < limit) {
            limit = processor->work_due;
        }
        register_write(cnthp_cval_el2, limit);
        register_write(cnthp_ctl_el2, 1);
    }
}

void watch_end_wait(const struct processor *processor)
{
    if (processor->shared == NULL) {
        set_timer(processor);
    }
}
