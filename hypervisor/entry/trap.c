/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands each exception of a guest that resident.c does not handle to the folder that does. */
#include "bandwidth/bandwidth.h"
#include "console/uart.h"
#include "emulated_function/host.h"
#include "entry/due_work.h"
#include "entry/idle.h"
#include "entry/interrupt.h"
#include "entry/monitor.h"
#include "entry/syndrome.h"
#include "gic/distributor.h"
#include "gic/listed.h"
#include "gic/listed_common.h"
#include "gic/redistributor.h"
#include "hypercall/hypercall.h"
#include "hypervisor/registers.h"
#include "memory/tables.h"
#include "partition/fault.h"
#include "partition/recall.h"
#include "pci/config_space.h"
#include "rtc/rtc.h"
#include "scheduler/scheduler.h"
#include "shared_device/shared_device.h"
#include "vcpu/features.h"
#include "vcpu/guest_state.h"
#include "vcpu/power.h"
#include "vcpu/same_core.h"
#include "watchdog/watchdog.h"
#include "world_switch/lazy_registers.h"
#include <devices/gic_registers.h>

static void set_value(struct registers *registers, unsigned number, uint64_t value)
{
    if (number != NO_REGISTER) {
        registers->x[number] = value;
    }
}

static bool is_inside(uint64_t address, uint64_t start, uint64_t bytes, uint64_t *offset)
{
    *offset = address - start;
    return start != 0 && *offset < bytes;
}

static uint64_t rtc_seconds(const struct partition *partition)
{
    return partition->constant.rtc_start + register_read(cntpct_el0) / register_read(cntfrq_el0);
}

static enum access_result route(struct vcpu *vcpu, uint64_t address, struct access *access,
                                enum exit_cause *cause)
{
    struct partition *partition = vcpu->partition;
    const struct description_board *board = &partition->constant.system->board;
    enum access_result result;

    if (is_inside(address, board->distributor, GIC_FRAME_BYTES, &access->offset)) {
        *cause = EXIT_DISTRIBUTOR;
        return distributor_access(vcpu, access);
    }
    if (is_inside(address, board->ecam, board->ecam_bytes, &access->offset)) {
        *cause = EXIT_PCI;
        return pci_access(partition, access);
    }
    if (is_inside(address, partition->constant.described->console, PAGE_BYTES, &access->offset)) {
        *cause = EXIT_CONSOLE;
        return uart_access(partition, access);
    }
    if (function_host_access(partition, address, access, &result)) {
        *cause = EXIT_PCI;
        return result;
    }
    if (shared_device_trap(partition, address, access, &result)) {
        *cause = EXIT_SHARED_DEVICE;
        return result;
    }
    if (is_inside(address, partition->constant.described->rtc, PAGE_BYTES, &access->offset)) {
        *cause = EXIT_CLOCK;
        return rtc_access(rtc_seconds(partition), access);
    }
    if (watchdog_access(vcpu, address, access, &result)) {
        *cause = EXIT_WATCHDOG;
        return result;
    }
    *cause = EXIT_REDISTRIBUTOR;
    return redistributor_access(vcpu, address, access);
}

static enum access_result data_abort(struct vcpu *vcpu, struct registers *registers,
                                     uint64_t syndrome, uint64_t address)
{
    enum exit_cause cause;
    enum access_result result;
    struct access access;
    unsigned target;

    if (!syndrome_access(syndrome, &access, &target) || (address & (access.bytes - 1u)) != 0) {
        return ACCESS_FORBIDDEN;
    }
    access.value = register_value(registers, target);
    if (access.bytes < sizeof(access.value)) {
        access.value &= (UINT64_C(1) << (8u * access.bytes)) - 1;
    }
    result = route(vcpu, address, &access, &cause);
    if (result == ACCESS_FORBIDDEN || result == ACCESS_AGAIN) {
        return result;
    }
    vcpu->report.exits[cause]++;
    if (!access.write) {
        set_value(registers, target, syndrome_loaded(syndrome, access.value));
    }
    return result;
}

#define IMPLEMENTATION_DEFINED(name) (REGISTER_CRN(name) == 11 || REGISTER_CRN(name) == 15)

/* OSLSR_EL1: the OS lock is implemented (OSLM), and not locked. */
#define OS_LOCK_OPEN UINT64_C(0x8)

/* Sets *value to the answer to a read of a trapped register. Ignores writes. */
static enum access_result answer_register(unsigned name, bool read, uint64_t *value)
{
    unsigned id_register = ID_SPACE_INDEX(name);

    *value = 0;
    switch (name) {
    case REGISTER_NAME(2u, 0u, 1u, 0u, 4u): /* OSLAR_EL1 */
    case REGISTER_NAME(2u, 0u, 1u, 3u, 4u): /* OSDLR_EL1 */
    case REGISTER_NAME(2u, 0u, 1u, 4u, 4u): /* DBGPRCR_EL1 */
    case REGISTER_NAME(2u, 0u, 1u, 0u, 0u): /* MDRAR_EL1: no debug ROM */
        return ACCESS_DONE;
    case REGISTER_NAME(2u, 0u, 1u, 1u, 4u): /* OSLSR_EL1 */
        *value = OS_LOCK_OPEN;
        return ACCESS_DONE;
    case REGISTER_NAME(3u, 0u, 1u, 0u, 1u):   /* ACTLR_EL1 */
    case REGISTER_NAME(3u, 0u, 12u, 11u, 6u): /* ICC_ASGI1R_EL1 */
    case REGISTER_NAME(3u, 0u, 12u, 11u, 7u): /* ICC_SGI0R_EL1 */
        return ACCESS_REFUSED;
    default:
        break;
    }
    if (IMPLEMENTATION_DEFINED(name)) { /* boot code for one processor model writes to these */
        return ACCESS_REFUSED;
    }
    if ((name & ID_SPACE_MASK) != ID_SPACE || id_register < ID_REGISTER_FIRST || !read) {
        return ACCESS_UNDEFINED;
    }
    *value = features_shown(id_register, id_register_read(id_register));
    return ACCESS_DONE;
}

/* Handles a trapped access to a register that both groups of interrupts have in common, of a guest
 * with listed interrupts. Returns false if it is none of these. */
static bool access_listed_common(struct registers *registers, uint64_t syndrome)
{
    unsigned name = (unsigned)syndrome & REGISTER_NAME_MASK;
    unsigned target = (unsigned)REGISTER_TARGET(syndrome);
    bool read = REGISTER_READ(syndrome);

    switch (name) {
    case REGISTER_PMR:
        if (read) {
            set_value(registers, target, listed_common_mask());
        } else {
            listed_common_set_mask(register_value(registers, target));
        }
        return true;
    case REGISTER_CTLR:
        if (read) {
            set_value(registers, target, listed_common_control());
        } else {
            listed_common_set_control(register_value(registers, target));
        }
        return true;
    case REGISTER_RPR:
        set_value(registers, target, listed_common_running_priority());
        return true;
    default:
        return false;
    }
}

static enum access_result system_register(struct vcpu *vcpu, struct registers *registers,
                                          uint64_t syndrome)
{
    unsigned name = (unsigned)syndrome & REGISTER_NAME_MASK;
    enum access_result result;
    uint64_t value;

    switch (name) {
    case REGISTER_NAME(1u, 0u, 7u, 6u, 2u):  /* DC ISW */
    case REGISTER_NAME(1u, 0u, 7u, 10u, 2u): /* DC CSW */
    case REGISTER_NAME(1u, 0u, 7u, 14u, 2u): /* DC CISW */
        vcpu->report.exits[EXIT_CACHE]++;
        return ACCESS_REFUSED; /* maintenance would affect caches that all processors share */
    case REGISTER_SGI1R:
        vcpu->report.exits[EXIT_SGI]++;
        return scheduler_send_sgi(vcpu,
                                  register_value(registers, (unsigned)REGISTER_TARGET(syndrome)));
    case REGISTER_DIR:
        vcpu->report.exits[EXIT_REGISTER]++;
        listed_deactivate(vcpu, register_value(registers, (unsigned)REGISTER_TARGET(syndrome)));
        return ACCESS_DONE;
    default:
        vcpu->report.exits[EXIT_REGISTER]++;
        if (access_listed_common(registers, syndrome)) {
            return ACCESS_DONE;
        }
        result = answer_register(name, REGISTER_READ(syndrome), &value);
        if (result != ACCESS_UNDEFINED && REGISTER_READ(syndrome)) {
            set_value(registers, (unsigned)REGISTER_TARGET(syndrome), value);
        }
        return result;
    }
}

/* Returns true if the guest takes an external abort instead of being stopped: always for accesses
 * that a process without rights in the guest can make, because it must not stop its whole system.
 * Returns false for a fault on the guest's own table walk, because ESR_EL1 has to name the level of
 * stage 1, which the hypervisor does not know. `address`: of a translation fault. */
static bool takes_abort(const struct vcpu *vcpu, uint64_t syndrome, uint64_t address)
{
    const struct partition *partition = vcpu->partition;
    unsigned exception_class = SYNDROME_CLASS(syndrome);

    if ((exception_class != CLASS_DATA && exception_class != CLASS_FETCH) ||
        syndrome_of_table_walk(syndrome)) {
        return false;
    }
    return partition->constant.described->unmapped == DESCRIPTION_UNMAPPED_ABORT ||
           syndrome_is_of_mapped_address(syndrome) || function_host_has_near(partition, address);
}

/* Handles an access that stage 2 does not permit because the core was recalled. Returns false if it
 * was not. The guest repeats the access, unless a stop is requested. */
static bool answer_recall(struct vcpu *vcpu)
{
    if (!recall_is_in_effect(vcpu)) {
        return false;
    }
    interrupt_handle_blocked(vcpu);
    recall_end_unless_called(vcpu);
    return true;
}

/* Handles an access that is not permitted. Returns true if the guest continues, false if its
 * partition is to be stopped. */
static bool handle_forbidden(struct vcpu *vcpu, struct registers *registers, uint64_t syndrome,
                             uint64_t virtual_address, uint64_t address)
{
    if (answer_recall(vcpu)) {
        return true;
    }
    if (!takes_abort(vcpu, syndrome, address)) {
        return false;
    }
    vcpu->report.exits[EXIT_FAULT]++;
    vcpu->report.refused++;
    register_write(far_el1, virtual_address);
    guest_state_exception(registers, syndrome_external_abort(syndrome, registers->state));
    return true;
}

/* Handles an instruction whose exception class is trapped as a whole. */
static enum access_result trapped_instruction(struct vcpu *vcpu, uint64_t syndrome)
{
    if ((CLASSES_UNDEFINED >> SYNDROME_CLASS(syndrome) & 1) == 0) {
        return ACCESS_FORBIDDEN;
    }
    vcpu->report.exits[EXIT_REGISTER]++;
    return ACCESS_UNDEFINED;
}

/* Handles a call, a wait for an interrupt, and the first access to registers that are switched
 * lazily. Returns false if the exception has another cause. */
static bool call_or_wait(struct vcpu *vcpu, struct registers *registers, uint64_t syndrome)
{
    switch (SYNDROME_CLASS(syndrome)) {
    case CLASS_SMC:
        registers->pc += INSTRUCTION_BYTES; /* the return address of HVC is past it already */
        hypercall_handle(vcpu, registers);
        return true;
    case CLASS_HVC:
        hypercall_handle(vcpu, registers);
        return true;
    case CLASS_WAIT:
        if (!vcpu_shares_core(vcpu)) {
            return false;
        }
        registers->pc += INSTRUCTION_BYTES;
        vcpu->report.exits[EXIT_WAIT]++;
        if (!SYNDROME_WAIT_HAS_LIMIT(syndrome)) {
            scheduler_wait(vcpu);
        }
        return true;
    case CLASS_VECTORS:
        if (!vcpu_shares_core(vcpu)) {
            return false;
        }
        lazy_registers_load_vectors(vcpu);
        return true;
    case CLASS_REGISTER:
        return lazy_registers_load_trapped(vcpu, (unsigned)syndrome & REGISTER_NAME_MASK);
    default:
        return false;
    }
}

static void synchronous(struct vcpu *vcpu, struct registers *registers)
{
    uint64_t syndrome = register_read(esr_el2), virtual_address, address;
    enum access_result result;

    if (call_or_wait(vcpu, registers, syndrome)) {
        return;
    }
    virtual_address = register_read(far_el2);
    address = (register_read(hpfar_el2) >> 4 << 12) | (virtual_address & (PAGE_BYTES - 1));
    switch (SYNDROME_CLASS(syndrome)) {
    case CLASS_DATA:
        result = data_abort(vcpu, registers, syndrome, address);
        break;
    case CLASS_REGISTER:
        result = system_register(vcpu, registers, syndrome);
        break;
    default:
        result = trapped_instruction(vcpu, syndrome);
        break;
    }
    if (result == ACCESS_FORBIDDEN &&
        handle_forbidden(vcpu, registers, syndrome, virtual_address, address)) {
        return;
    }
    if (result == ACCESS_UNDEFINED) {
        vcpu->report.refused++;
        guest_state_undefined(registers);
        return;
    }
    if (result == ACCESS_FORBIDDEN) {
        fault_stop(vcpu, registers->pc, syndrome,
                   syndrome_has_address(syndrome) ? address : FAULT_ADDRESS_UNKNOWN);
    }
    vcpu->report.refused += result == ACCESS_REFUSED;
    registers->pc += result == ACCESS_AGAIN ? 0 : INSTRUCTION_BYTES;
}

void monitor_trap(struct registers *registers, unsigned kind)
{
    struct processor *processor = processor_this();
    struct vcpu *vcpu = processor->vcpu;

    if (kind != VECTOR_SYNCHRONOUS) {
        scheduler_enter(registers->taken);
    }
    if (kind == VECTOR_SYNCHRONOUS) {
        synchronous(vcpu, registers);
    } else if (kind == VECTOR_FIQ) {
        interrupt_handle(vcpu);
    } else if (listed_is_supported() && kind == VECTOR_IRQ) {
        interrupt_list(vcpu);
    } else {
        fault_stop(vcpu, registers->pc, register_read(esr_el2), FAULT_ADDRESS_UNKNOWN);
    }
    run_due_work(processor, vcpu, registers->pc);
    bandwidth_wait(processor, vcpu, registers->pc);
    if (!power_may_execute(vcpu)) {
        idle(processor);
    }
}
