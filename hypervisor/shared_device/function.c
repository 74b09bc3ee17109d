/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared_device/function.h"

#include "emulated_function/config.h"
#include "emulated_function/host.h"
#include "emulated_function/interrupt.h"
#include "shared_device/backend_call.h"
#include "shared_device/state.h"
#include <arch/hypercalls.h>
#include <arch/shared_device_function.h>
#include <devices/pci_registers.h>

#define REGISTER_BYTES   4u
#define INTERRUPT_ENABLE (1u << 0)

static struct shared_device_state *state_of(const struct description_shared_device *device)
{
    return (struct shared_device_state *)((uintptr_t)device->physical + DESCRIPTION_PAGE_BYTES);
}

bool shared_device_has_function(const struct partition *partition, uint64_t index)
{
    const struct description *system = partition->constant.system;

    return index < system->shared_device_count &&
           system->shared_devices[index].backend == partition->constant.index &&
           system->shared_devices[index].function != 0;
}

struct emulated_function *shared_device_function(const struct description_shared_device *device)
{
    return &state_of(device)->function;
}

enum access_result shared_device_function_config(const struct partition *partition, uint32_t index,
                                                 struct access *access)
{
    const struct description *system = partition->constant.system;
    const struct description_shared_device *device = &system->shared_devices[index];
    struct emulated_function *function = shared_device_function(device);
    uint32_t before = function->command;
    enum access_result result;
    const struct function_config config = {
        .ids = SHARED_DEVICE_FUNCTION_IDS,
        .class_code = SHARED_DEVICE_FUNCTION_CLASS,
        .capabilities =
            {
                PCI_CAPABILITY_VENDOR | SHARED_DEVICE_FUNCTION_VENDOR_SIZE
                                            << FUNCTION_VENDOR_LENGTH_SHIFT,
                index,
                (uint32_t)device->page,
                (uint32_t)(device->page >> 32),
            },
    };

    result = function_config_access(function, &config, access);
    if ((before & ~function->command & PCI_COMMAND_MASTER) != 0) {
        backend_release(system, index);
    }
    return result;
}

/* Makes a call of the back-end. Returns ACCESS_REFUSED if it fails. */
static enum access_result call(const struct description *system, uint32_t index, uint32_t function,
                               uint32_t argument, uint64_t value)
{
    return backend_call(system, index, function, argument, value) == CALL_SUCCESS ? ACCESS_DONE
                                                                                  : ACCESS_REFUSED;
}

/* The partition's processes and VCPUs share the value of CONFIGURE, as the device. */
static uint64_t value_of(const uint32_t halves[2])
{
    return (uint64_t)__atomic_load_n(&halves[1], __ATOMIC_RELAXED) << 32 |
           __atomic_load_n(&halves[0], __ATOMIC_RELAXED);
}

static enum access_result write_register(const struct description *system, uint32_t index,
                                         uint64_t at, uint32_t value)
{
    struct shared_device_state *state = state_of(&system->shared_devices[index]);

    switch (at) {
    case SHARED_DEVICE_FUNCTION_INTERRUPT_CONTROL:
        function_interrupt_change(&state->function, FUNCTION_ENABLE,
                                  (value & INTERRUPT_ENABLE) != 0 ? FUNCTION_ENABLE : 0);
        return ACCESS_DONE;
    case SHARED_DEVICE_FUNCTION_INTERRUPT:
        return call(system, index, CALL_SHARED_DEVICE_INTERRUPT, value, 0);
    case SHARED_DEVICE_FUNCTION_ACKNOWLEDGE:
        return call(system, index, CALL_SHARED_DEVICE_ACKNOWLEDGE, value, 0);
    case SHARED_DEVICE_FUNCTION_VALUE_LOW:
    case SHARED_DEVICE_FUNCTION_VALUE_HIGH:
        __atomic_store_n(&state->value[at == SHARED_DEVICE_FUNCTION_VALUE_HIGH ? 1 : 0], value,
                         __ATOMIC_RELAXED);
        return ACCESS_DONE;
    case SHARED_DEVICE_FUNCTION_CONFIGURE:
        return call(system, index, CALL_SHARED_DEVICE_CONFIGURE, value, value_of(state->value));
    case SHARED_DEVICE_FUNCTION_FAIL:
        return call(system, index, CALL_SHARED_DEVICE_FAIL, 0, 0);
    default:
        return ACCESS_REFUSED;
    }
}

enum access_result shared_device_function_register(const struct partition *partition,
                                                   uint32_t index, struct access *access)
{
    const struct description *system = partition->constant.system;
    uint32_t bits = function_interrupt_bits(shared_device_function(&system->shared_devices[index]));

    if (access->bytes != REGISTER_BYTES || access->offset > SHARED_DEVICE_FUNCTION_FAIL) {
        return function_host_refuse(access, 0);
    }
    if (access->write) {
        return write_register(system, index, access->offset, (uint32_t)access->value);
    }
    access->value =
        access->offset == SHARED_DEVICE_FUNCTION_INTERRUPT_CONTROL && (bits & FUNCTION_ENABLE) != 0
            ? INTERRUPT_ENABLE
            : 0;
    return ACCESS_DONE;
}

bool shared_device_function_is_near(const struct description_shared_device *device,
                                    uint64_t address)
{
    bool is_near = function_host_is_near(device->page, DESCRIPTION_PAGE_BYTES, address);

    for (uint32_t i = 0; i < device->window_count; i++) {
        is_near = is_near || function_host_is_near(device->windows[i].backend,
                                                   device->windows[i].bytes, address);
    }
    return is_near;
}
