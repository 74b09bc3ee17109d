/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/power.h"
#include "console/input.h"
#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "monitor/guest_state.h"
#include "monitor/load.h"
#include "monitor/registers.h"
#include "pci/config_space.h"
#include "psci/psci.h"
#include "smmu/smmu.h"

static struct partition_core *this_core_state(const struct core *core)
{
    return &core->partition->cores[core->index];
}

/* Returns the first core of the partition that has not stopped, or core_count if all have. The
 * loads are sequentially consistent, so that of two cores that stop at once one sees the other. */
static uint32_t first_running_core(const struct partition *partition)
{
    uint32_t core = 0;

    while (core < partition->system->core_count &&
           __atomic_load_n(&partition->cores[core].state, __ATOMIC_SEQ_CST) == CORE_OFF) {
        core++;
    }
    return core;
}

static bool never_restarts(const struct partition *partition)
{
    return partition->described->restart == DESCRIPTION_RESTART_NEVER;
}

static bool is_boot_core(const struct core *core)
{
    return core->index == core->partition->described->boot_core;
}

static _Noreturn void enter_guest(struct core *core, uint64_t entry, uint64_t context)
{
    struct registers *registers = (struct registers *)(uintptr_t)core->stack - 1;

    *registers = (struct registers){.pc = entry, .state = STATE_EL1H};
    registers->x[0] = context;
    gic_reset_core(&core->partition->system->cores[core->index]);
    guest_state_reset();
    core->report.state = REPORT_RUNNING;
    core->report.starts++;
    __atomic_store_n(&this_core_state(core)->state, CORE_ON, __ATOMIC_RELEASE);
    monitor_resume(registers);
}

/* Asks all cores of the partition to stop. An earlier request stays. */
static void request_stop(struct core *core, uint32_t request)
{
    struct partition *partition = core->partition;
    uint32_t before = REQUEST_NONE;

    (void)__atomic_compare_exchange_n(&partition->request, &before, request, false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < partition->system->core_count; i++) {
        if (i != core->index && partition->system->cores[i].partition == partition->index) {
            gic_send(&partition->system->cores[i]);
        }
    }
}

/* Takes a pending SError, so that it is attributed to this core's earlier accesses. */
static void take_pending_errors(void)
{
    __asm__ volatile("dsb sy\n\tmsr daifclr, #4\n\tisb\n\tmsr daifset, #4" : : : "memory");
}

/* Records the fault, reports it on the terminal, and asks for the partition's stop. `what`: the
 * name of the address in the report. */
static void stop_for_fault(struct core *core, uint64_t pc, uint64_t syndrome, const char *what,
                           uint64_t address)
{
    core->report.exits[EXIT_FAULT]++;
    core->report.syndrome = syndrome;
    core->report.address = address;
    core->report.pc = pc;
    uart_flush(core->partition, true);
    if (address == POWER_ADDRESS_UNKNOWN) {
        terminal_print("%s is stopped: core %u, address unknown, syndrome 0x%lx, pc 0x%lx",
                       core->partition->described->name, core->index, syndrome, pc);
    } else {
        terminal_print("%s is stopped: core %u, %s 0x%lx, syndrome 0x%lx, pc 0x%lx",
                       core->partition->described->name, core->index, what, address, syndrome, pc);
    }
    request_stop(core, REQUEST_STOP);
}

void power_fault(struct core *core, const struct registers *registers, uint64_t syndrome,
                 uint64_t address)
{
    stop_for_fault(core, registers->pc, syndrome, "address", address);
}

bool power_device_fault(struct core *core, uint64_t pc)
{
    uint64_t syndrome;

    take_pending_errors();
    syndrome = core->device_syndrome;
    if (syndrome == 0) {
        return false;
    }
    core->device_syndrome = 0;
    stop_for_fault(core, pc, syndrome, "no answer from the device at", core->device_address);
    return true;
}

/* Resets the partition's devices, which from then on reach no memory and raise no interrupt. The
 * SMMU comes first: it aborts DMA whatever a device does. Returns false if a device may still reach
 * memory. */
static bool quiesce(struct core *core)
{
    struct partition *partition = core->partition;
    bool blocked = smmu_block_dma(partition);
    bool reset = pci_reset(partition);

    gic_reset_partition(partition);
    uart_reset(partition);
    return !power_device_fault(core, 0) && blocked && reset;
}

/* Loads the partition and starts its guest. Returns on failure only, with the partition stopped.
 * Does not write to the partition's memory if a device may still reach it. */
static void start_partition(struct core *core)
{
    struct partition *partition = core->partition;
    struct smmu_event before;

    if (quiesce(core)) {
        while (smmu_event(partition, &before)) { /* events from before the start are discarded */
        }
        load_partition(partition);
        if (smmu_permit_dma(partition)) {
            __atomic_store_n(&partition->request, REQUEST_NONE, __ATOMIC_RELEASE);
            enter_guest(core, partition->described->entry, partition->described->devicetree);
        }
    }
    terminal_say(partition, "can't start: a PCI function or the SMMU does not answer");
    __atomic_store_n(&partition->request, REQUEST_STOPPED, __ATOMIC_RELEASE);
}

/* Completes the request, on the boot core, when all cores have stopped. The last core that stops
 * wakes the boot core. */
static void complete_request(struct core *core, uint32_t request)
{
    struct partition *partition = core->partition;

    if (!is_boot_core(core)) {
        gic_send(&partition->system->cores[partition->described->boot_core]);
    } else if (request == REQUEST_RESET) {
        start_partition(core);
    } else {
        (void)quiesce(core);
        __atomic_store_n(&partition->request, REQUEST_STOPPED, __ATOMIC_RELEASE);
    }
}

/* A core that waits for a start, and the stop or restart that it watches meanwhile. */
struct watch {
    uint32_t request;   /* enum partition_request, as last read */
    bool is_timed;      /* a request came, and its time limit is not over */
    uint64_t requested; /* CNTPCT_EL0 when it came */
};

static bool time_is_over(const struct watch *watch)
{
    return register_read(cntpct_el0) - watch->requested >= register_read(cntfrq_el0); /* 1 s */
}

/* Reports a core that has not stopped within a second. The boot core reports the other cores; if
 * the boot core itself is missing, the other cores report it. */
static void report_missing(const struct core *core, uint32_t missing)
{
    const struct partition *partition = core->partition;

    if (is_boot_core(core) || missing == partition->described->boot_core) {
        terminal_print("%s waits: core %u does not answer", partition->described->name, missing);
    }
}

/* Completes a stop or a restart once all cores have stopped. Returns true if this core may sleep:
 * an interrupt comes when there is more to do. Returns false while it must poll, because another
 * core has not stopped and the time limit is not over. */
static bool handle_stop_request(struct core *core, struct watch *watch)
{
    uint32_t missing = first_running_core(core->partition);

    if (watch->request != REQUEST_RESET && watch->request != REQUEST_STOP) {
        return true;
    }
    if (missing == core->partition->system->core_count) {
        complete_request(core, watch->request);
        return true;
    }
    if (watch->is_timed && !time_is_over(watch)) {
        return false;
    }
    if (watch->is_timed) {
        report_missing(core, missing);
    }
    return true;
}

/* Reads the partition's request; a new one starts the time limit. */
static void read_request(const struct partition *partition, struct watch *watch)
{
    uint32_t request = __atomic_load_n(&partition->request, __ATOMIC_ACQUIRE);

    if (request != watch->request) {
        watch->is_timed = true;
        watch->requested = register_read(cntpct_el0);
    }
    watch->request = request;
}

/* Starts the guest on this core, for which another core of the partition called CPU_ON. If the
 * partition has to stop, the core is off again without a start. */
static void start_core(struct core *core, uint32_t request)
{
    struct partition_core *state = this_core_state(core);

    if (request == REQUEST_NONE) {
        enter_guest(core, state->entry, state->context);
    }
    __atomic_store_n(&state->state, CORE_OFF, __ATOMIC_SEQ_CST);
}

/* Waits until the partition starts this core, by CPU_ON or by a restart. The core's part of the GIC
 * is reset first: interrupts of the guest would wake the core again and again, and an active
 * priority that the guest has feigned blocks the hypervisor's interrupts (docs/decisions/0013). */
static _Noreturn void wait_for_start(struct core *core)
{
    struct partition *partition = core->partition;
    struct watch watch = {.request = REQUEST_NONE};
    uint32_t on = CORE_ON;

    gic_reset_core(&partition->system->cores[core->index]);
    /* CPU_OFF has set CORE_OFF already, and since then another core may have asked for a start. */
    (void)__atomic_compare_exchange_n(&this_core_state(core)->state, &on, CORE_OFF, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    for (;;) {
        bool is_ready =
            __atomic_load_n(&this_core_state(core)->state, __ATOMIC_ACQUIRE) == CORE_READY;

        read_request(partition, &watch);
        if (is_ready) {
            start_core(core, watch.request);
        }
        if (handle_stop_request(core, &watch)) {
            watch.is_timed = false;
            __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        }
        power_interrupt(core);
        (void)power_device_fault(core, 0);
    }
}

void power_call(struct core *core, struct registers *registers)
{
    uint32_t target;

    core->report.exits[EXIT_POWER]++;
    switch (psci_call(core->partition, core->index, registers->x, &target)) {
    case PSCI_CORE_START:
        __atomic_store_n(&core->partition->cores[target].state, CORE_READY, __ATOMIC_RELEASE);
        gic_send(&core->partition->system->cores[target]);
        break;
    case PSCI_SUSPEND:
        __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        break;
    case PSCI_CORE_OFF:
        core->report.state = REPORT_OFF;
        wait_for_start(core);
    case PSCI_SYSTEM_OFF:
        uart_flush(core->partition, true);
        terminal_say(core->partition, "is off");
        request_stop(core, REQUEST_STOP);
        break;
    case PSCI_SYSTEM_RESET:
        uart_flush(core->partition, true);
        if (never_restarts(core->partition)) {
            terminal_say(core->partition, "is off: it never restarts");
            request_stop(core, REQUEST_STOP);
        } else {
            terminal_say(core->partition, "restarts");
            request_stop(core, REQUEST_RESET);
        }
        break;
    default:
        break;
    }
}

/* Stops the partition for the first DMA that the SMMU refused. Later events, until the devices are
 * reset, change nothing. */
static void stop_for_dma(struct core *core)
{
    struct partition *partition = core->partition;
    struct smmu_event event;

    if (!smmu_event(partition, &event) ||
        __atomic_load_n(&partition->request, __ATOMIC_ACQUIRE) != REQUEST_NONE) {
        return;
    }
    core->report.exits[EXIT_FAULT]++;
    core->report.syndrome = event.type;
    core->report.address = event.address;
    core->report.pc = 0;
    uart_flush(partition, true);
    terminal_print("%s is stopped: device %x%x:%x%x.%x, DMA %s at 0x%lx, event 0x%x",
                   partition->described->name, event.stream >> 12, event.stream >> 8 & 0xf,
                   event.stream >> 7 & 1, event.stream >> 3 & 0xf, event.stream & 7,
                   event.read ? "read" : "write", event.address, event.type);
    request_stop(core, REQUEST_STOP);
}

void power_interrupt(struct core *core)
{
    uint32_t number = gic_acknowledge();
    enum partition_request request = REQUEST_NONE;

    if (number == GIC_NONE) {
        return;
    }
    core->report.exits[EXIT_INTERRUPT]++;
    if (number == core->partition->system->board.uart_interrupt) {
        request = terminal_input(core->partition);
        if (request == REQUEST_RESET && never_restarts(core->partition)) {
            terminal_say(core->partition, "never restarts");
            request = REQUEST_NONE;
        }
    } else if (number == core->partition->system->board.smmu_interrupt) {
        stop_for_dma(core);
    }
    gic_end(number);
    if (request != REQUEST_NONE) {
        uart_flush(core->partition, true);
        terminal_say(core->partition, request == REQUEST_STOP ? "is stopped" : "restarts");
        /* A typed request replaces any other, even one that cores still handle: it arrives at the
         * boot core, and only the boot core completes requests. */
        __atomic_store_n(&core->partition->request, request, __ATOMIC_RELEASE);
        request_stop(core, request);
    }
}

void power_stop_if_requested(struct core *core)
{
    if (__atomic_load_n(&core->partition->request, __ATOMIC_ACQUIRE) != REQUEST_NONE) {
        core->report.state = REPORT_STOPPED;
        wait_for_start(core);
    }
}

void power_on(struct core *core)
{
    if (is_boot_core(core)) {
        start_partition(core);
    }
    wait_for_start(core);
}
