/* SPDX-License-Identifier: BSD-2-Clause */
#include "vcpu/power.h"

#include "bandwidth/bandwidth.h"
#include "entry/interrupt.h"
#include "entry/monitor.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "partition/life.h"
#include "scheduler/scheduler.h"
#include "vcpu/guest_state.h"
#include "watchdog/watchdog.h"

/* Waits until an interrupt is pending for the guest or for the hypervisor. */
static void suspend(struct vcpu *vcpu)
{
    uint64_t active;

    if (listed_has(vcpu->partition)) {
        /* WFI at EL2 does not end for a pending list register. If there is none, a pending
         * interrupt that ends WFI enters EL2 as soon as the guest continues. */
        if (!listed_is_pending(vcpu)) {
            scheduler_wait(vcpu);
        }
        return;
    }
    active = gic_hide_active();
    __asm__ volatile("dsb sy\n\twfi" : : : "memory");
    interrupt_handle(vcpu);
    gic_restore_active(active);
}

void power_change(struct vcpu *vcpu, enum psci_action action, uint32_t target)
{
    struct partition *partition = vcpu->partition;
    uint32_t before = VCPU_STARTING;

    switch (action) {
    case ACTION_CORE_START:
        (void)__atomic_compare_exchange_n(&partition->atomic.power[target].state, &before,
                                          VCPU_READY, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        gic_send(partition, target);
        break;
    case ACTION_SUSPEND:
        suspend(vcpu);
        break;
    case ACTION_SYSTEM_OFF:
        life_request_by_guest(vcpu, REQUEST_STOP);
        break;
    case ACTION_SYSTEM_RESET:
        life_request_by_guest(vcpu, REQUEST_RESET);
        break;
    case ACTION_CORE_OFF: /* the VCPU is off now, so monitor_trap() does not continue the guest */
    case ACTION_RETURN:
        break;
    }
}

bool power_may_execute(const struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;

    return __atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE) == REQUEST_NONE &&
           __atomic_load_n(&partition->atomic.power[vcpu->number].state, __ATOMIC_ACQUIRE) ==
               VCPU_ON;
}

_Noreturn void power_start(struct vcpu *vcpu)
{
    struct registers *registers = (struct registers *)(uintptr_t)processor_this()->stack - 1;
    struct vcpu_power *power = &vcpu->partition->atomic.power[vcpu->number];

    *registers = (struct registers){.pc = power->entry, .state = STATE_EL1H};
    registers->x[0] = power->context;
    gic_reset_core(vcpu);
    scheduler_start_guest(vcpu);
    guest_state_reset();
    vcpu->report.state = REPORT_RUNNING;
    vcpu->report.starts++;
    __atomic_store_n(&power->state, VCPU_ON, __ATOMIC_RELEASE);
    watchdog_start_guest(vcpu);
    bandwidth_start_guest(vcpu);
    gic_open_core(vcpu);
    monitor_resume(registers);
}
