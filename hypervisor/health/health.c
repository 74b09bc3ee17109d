/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/health.h"

#include "health/log.h"
#include "health/state.h"
#include "hypervisor/registers.h"

static const struct description_health *table_of(const struct partition *partition)
{
    return &partition->constant.described->health;
}

/* Counts an error, and records it unless it is ignored. */
static void note(struct health *health, const struct health_record *record)
{
    ticket_lock_take(&health->lock, TICKET_LOCK_PATIENCE);
    __atomic_store_n(&health->errors, health->errors + 1, __ATOMIC_RELAXED);
    if (record->action != HEALTH_ACTION_IGNORE) {
        log_append(&health->log, record);
    }
    ticket_lock_give(&health->lock);
}

/* Returns the action for a record. If the partition is being stopped already, or has stopped,
 * nothing else follows from the error. */
static enum health_action recorded_action(const struct partition *partition,
                                          enum health_action action)
{
    bool goes_on = __atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE) == REQUEST_NONE;

    return goes_on || action == HEALTH_ACTION_IGNORE ? action : HEALTH_ACTION_LOG;
}

enum health_action health_raise(const struct vcpu *vcpu, const struct health_event *event)
{
    const struct partition *partition = vcpu->partition;
    const struct description_health *table = table_of(partition);
    enum health_action action;

    if (table->is_monitored == 0) {
        return HEALTH_ACTION_STOP;
    }
    action = (enum health_action)table->actions[event->error];
    note(health_of(partition), &(struct health_record){
                                   .time = register_read(cntpct_el0),
                                   .address = event->address,
                                   .syndrome = event->syndrome,
                                   .pc = event->pc,
                                   .error = (uint16_t)event->error,
                                   .action = (uint16_t)recorded_action(partition, action),
                                   .source = event->source,
                               });
    return action;
}

bool health_admit_restart(const struct vcpu *vcpu)
{
    const struct description_health *table = table_of(vcpu->partition);
    struct health *health = health_of(vcpu->partition);
    uint64_t now = register_read(cntpct_el0), hz = register_read(cntfrq_el0);
    const struct restart_limit limit = {
        .most = table->restarts, .window = table->window * hz / 1000, .hz = hz};

    if (table->restarts != 0 && account_admit(&health->account, &limit, now)) {
        return true;
    }
    note(health, &(struct health_record){
                     .time = now,
                     .syndrome = table->restarts,
                     .error = HEALTH_ERROR_RESTARTS,
                     .action = HEALTH_ACTION_STOP,
                     .source = vcpu->processor,
                 });
    return false;
}

bool health_has_to_wait(const struct partition *partition)
{
    return table_of(partition)->is_monitored != 0 &&
           register_read(cntpct_el0) < health_of(partition)->account.earliest;
}

void health_begin_account(struct partition *partition)
{
    if (table_of(partition)->is_monitored != 0) {
        health_of(partition)->account = (struct restart_account){.next = 0};
    }
}

uint64_t health_errors(const struct partition *partition)
{
    return table_of(partition)->is_monitored != 0
               ? __atomic_load_n(&health_of(partition)->errors, __ATOMIC_RELAXED)
               : 0;
}

bool health_read(const struct partition *partition, uint64_t from, struct health_record *record)
{
    return table_of(partition)->is_monitored != 0 &&
           log_read(&health_of(partition)->log, from, record);
}
