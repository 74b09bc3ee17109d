/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypercall/psci.h"

#include "gic/affinity.h"
#include <arch/hypercalls.h>

#define PSCI_VERSION_1_1 0x10001

#define NUMBER(function) ((function) - CALL_OWNER_PSCI)

enum psci_function {
    VERSION = NUMBER(PSCI_VERSION),
    CPU_SUSPEND = NUMBER(PSCI_CPU_SUSPEND),
    CPU_OFF = NUMBER(PSCI_CPU_OFF),
    CPU_ON = NUMBER(PSCI_CPU_ON),
    AFFINITY_INFO = NUMBER(PSCI_AFFINITY_INFO),
    MIGRATE_INFO_TYPE = NUMBER(PSCI_MIGRATE_INFO_TYPE),
    SYSTEM_OFF = NUMBER(PSCI_SYSTEM_OFF),
    SYSTEM_RESET = NUMBER(PSCI_SYSTEM_RESET),
    FEATURES = NUMBER(PSCI_FEATURES),
    SYSTEM_RESET2 = NUMBER(PSCI_SYSTEM_RESET2),
};

#define FUNCTIONS_64 (1u << CPU_SUSPEND | 1u << CPU_ON | 1u << AFFINITY_INFO | 1u << SYSTEM_RESET2)
#define FUNCTIONS_32                                                                             \
    (FUNCTIONS_64 | 1u << VERSION | 1u << CPU_OFF | 1u << MIGRATE_INFO_TYPE | 1u << SYSTEM_OFF | \
     1u << SYSTEM_RESET | 1u << FEATURES)

/* Error codes (DEN0022, 5.2.2). */
enum psci_result {
    SUCCESS = 0,
    NOT_SUPPORTED = -1,
    INVALID_PARAMETERS = -2,
    ALREADY_ON = -4,
    ON_PENDING = -5,
    INTERNAL_FAILURE = -6,
    INVALID_ADDRESS = -9,
};

/* Result of MIGRATE_INFO_TYPE: there is no Trusted OS that would have to be migrated (DEN0022). */
#define NOTHING_TO_MIGRATE 2

/* Bits of power_state that must be 0: all but StateID and PowerLevel (DEN0022, CPU_SUSPEND,
 * original format). These two make no difference, because the VCPU only waits. StateType, bit 16,
 * requests a powerdown state, which an implementation need not have. */
#define POWER_STATE_MUST_BE_0 0xfcff0000u

#define NO_FUNCTION 32u

static unsigned function_of(uint32_t call)
{
    uint32_t number = (call & ~CALL_64) - CALL_OWNER_PSCI;

    return number < 32 && ((call & CALL_64 ? FUNCTIONS_64 : FUNCTIONS_32) >> number & 1) != 0
               ? number
               : NO_FUNCTION;
}

static int features(uint32_t call)
{
    return call == CALL_SMCCC_VERSION || function_of(call) != NO_FUNCTION ? SUCCESS : NOT_SUPPORTED;
}

static bool is_in_memory(const struct description_partition *described, uint64_t address)
{
    for (uint32_t i = 0; i < described->memory_count; i++) {
        if (address - described->memories[i].guest < described->memories[i].bytes) {
            return true;
        }
    }
    return false;
}

/* Handles CPU_ON (DEN0022, 5.1.4). Returns an enum psci_result, and sets *target if it is
 * SUCCESS. */
static int core_on(struct partition *partition, const uint64_t *arguments, uint32_t *target)
{
    uint32_t index = affinity_vcpu(partition, arguments[0]), found = VCPU_OFF;
    struct vcpu_power *power = &partition->atomic.power[index % DESCRIPTION_VCPUS_MAX];

    if (index == AFFINITY_NO_VCPU) {
        return INVALID_PARAMETERS;
    }
    if (!is_in_memory(partition->constant.described, arguments[1])) {
        return INVALID_ADDRESS;
    }
    if (!__atomic_compare_exchange_n(&power->state, &found, VCPU_STARTING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
        return found == VCPU_ON ? ALREADY_ON : found == VCPU_HALTED ? INTERNAL_FAILURE : ON_PENDING;
    }
    power->entry = arguments[1];
    power->context = arguments[2];
    *target = index;
    return SUCCESS;
}

/* Handles AFFINITY_INFO (DEN0022, 5.1.5). Returns 0 (ON), 1 (OFF), 2 (ON_PENDING) or
 * INVALID_PARAMETERS. */
static int affinity_info(const struct partition *partition, const uint64_t *arguments)
{
    uint32_t index = affinity_vcpu(partition, arguments[0]);

    /* Affinity levels above 0 are optional since PSCI 1.0. */
    if (index == AFFINITY_NO_VCPU || arguments[1] != 0) {
        return INVALID_PARAMETERS;
    }
    switch (__atomic_load_n(&partition->atomic.power[index].state, __ATOMIC_RELAXED)) {
    case VCPU_ON:
        return 0;
    case VCPU_OFF:
    case VCPU_HALTED:
        return 1;
    default:
        return 2;
    }
}

enum psci_action psci_call(struct partition *partition, uint32_t vcpu, uint64_t registers[4],
                           uint32_t *target)
{
    uint32_t call = (uint32_t)registers[0];
    uint64_t limit = (call & CALL_64) != 0 ? UINT64_MAX : UINT32_MAX;
    const uint64_t arguments[] = {registers[1] & limit, registers[2] & limit, registers[3] & limit};
    enum psci_action action = ACTION_RETURN;
    int result = NOT_SUPPORTED;

    switch (function_of(call)) {
    case VERSION:
        result = PSCI_VERSION_1_1;
        break;
    case CPU_SUSPEND:
        result = (arguments[0] & POWER_STATE_MUST_BE_0) == 0 ? SUCCESS : INVALID_PARAMETERS;
        action = result == SUCCESS ? ACTION_SUSPEND : ACTION_RETURN;
        break;
    case CPU_OFF:
        __atomic_store_n(&partition->atomic.power[vcpu].state, VCPU_OFF, __ATOMIC_SEQ_CST);
        return ACTION_CORE_OFF;
    case CPU_ON:
        result = core_on(partition, arguments, target);
        action = result == SUCCESS ? ACTION_CORE_START : ACTION_RETURN;
        break;
    case AFFINITY_INFO:
        result = affinity_info(partition, arguments);
        break;
    case MIGRATE_INFO_TYPE:
        result = NOTHING_TO_MIGRATE;
        break;
    case SYSTEM_OFF:
        return ACTION_SYSTEM_OFF;
    case SYSTEM_RESET:
        return ACTION_SYSTEM_RESET;
    case FEATURES:
        result = features((uint32_t)arguments[0]);
        break;
    case SYSTEM_RESET2:
        if ((uint32_t)arguments[0] == 0) { /* SYSTEM_WARM_RESET */
            return ACTION_SYSTEM_RESET;
        }
        result = INVALID_PARAMETERS;
        break;
    default:
        break;
    }
    registers[0] = (uint64_t)(int64_t)result;
    return action;
}
