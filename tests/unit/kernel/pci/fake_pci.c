/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_pci.h"

#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "pci/pci_private.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX 300u

static struct fake_function *functions[FUNCTIONS_MAX];
static unsigned function_count;

uint32_t (*fake_answer)(uint8_t bus, uint8_t device_function, uint16_t offset);
void (*fake_memory_write)(uintptr_t address, uint32_t value);
struct fake_counts fake_counts;
struct fake_controller fake_controller;
uint8_t fake_memory[FAKE_MEMORY_BYTES];

void fake_reset(void)
{
    struct pci_function *next;

    for (struct pci_function *function = pci_host()->first; function != NULL; function = next) {
        next = function->next;
        free(function);
    }
    *pci_host() = (struct pci_host){.node = -1};
    for (unsigned index = 0; index < function_count; index++) {
        free(functions[index]);
    }
    function_count = 0;
    fake_answer = NULL;
    fake_memory_write = NULL;
    fake_counts = (struct fake_counts){0};
    fake_controller = (struct fake_controller){0};
    memset(fake_memory, 0, sizeof(fake_memory));
}

struct fake_function *fake_add(struct fake_function *bridge, uint8_t device, uint8_t function,
                               uint32_t id)
{
    struct fake_function *made = calloc(1, sizeof(*made));

    if (made == NULL || function_count == FUNCTIONS_MAX) {
        abort();
    }
    made->bridge = bridge;
    made->device = device;
    made->function = function;
    pci_model_reset(&made->pci, id);
    functions[function_count++] = made;
    return made;
}

struct fake_function *fake_add_bridge(struct fake_function *bridge, uint8_t device, bool wide)
{
    struct fake_function *made = fake_add(bridge, device, 0, 0x000C1B36);

    pci_model_bridge(&made->pci, wide);
    return made;
}

/* The bus a function is on by what its bridge says, -1: not reachable. */
static int bus_of(const struct fake_function *function)
{
    unsigned secondary;

    if (function->bridge == NULL) {
        return pci_host()->first_bus;
    }
    if (bus_of(function->bridge) < 0) {
        return -1;
    }
    secondary = function->bridge->pci.config[PCI_BRIDGE_BUSES + 1];
    /* Requests get here only if every bridge above passes the number on. */
    for (const struct fake_function *above = function->bridge; above != NULL;
         above = above->bridge) {
        if (secondary < above->pci.config[PCI_BRIDGE_BUSES + 1] ||
            secondary > above->pci.config[PCI_BRIDGE_BUSES + 2] || secondary == 0) {
            return -1;
        }
    }
    return (int)secondary;
}

static struct fake_function *find(uint8_t bus, uint8_t device_function)
{
    for (unsigned index = 0; index < function_count; index++) {
        struct fake_function *function = functions[index];

        if ((function->device << 3 | function->function) == device_function &&
            bus_of(function) == bus) {
            return function;
        }
    }
    return NULL;
}

void pci_access_init(uint64_t address, uint8_t first_bus)
{
    (void)address;
    (void)first_bus;
}

uint32_t pci_access_read(uint8_t bus, uint8_t device_function, uint16_t offset, unsigned bytes)
{
    const struct fake_function *function;

    fake_counts.reads++;
    if (offset % bytes != 0 || offset >= PCI_CONFIG_BYTES) {
        abort();
    }
    if (fake_answer != NULL) {
        return fake_answer(bus, device_function, offset) & UINT32_MAX >> (32 - 8 * bytes);
    }
    function = find(bus, device_function);
    if (function == NULL || offset >= FAKE_CONFIG_BYTES) {
        return UINT32_MAX >> (32 - 8 * bytes);
    }
    return pci_model_read(&function->pci, offset, bytes);
}

void pci_access_write(uint8_t bus, uint8_t device_function, uint16_t offset, unsigned bytes,
                      uint32_t value)
{
    struct fake_function *function = find(bus, device_function);

    fake_counts.writes++;
    if (offset % bytes != 0 || offset >= PCI_CONFIG_BYTES) {
        abort();
    }
    if (function == NULL || offset >= FAKE_CONFIG_BYTES) {
        return;
    }
    pci_model_write(&function->pci, offset, bytes, value);
}

enum result fake_enumerate(void)
{
    enum result result = pci_init();

    for (unsigned index = 0; index < function_count; index++) {
        int bus = bus_of(functions[index]);

        for (struct pci_function *found = pci_first(); found != NULL; found = found->next) {
            if (found->bus == bus && found->device == functions[index]->device &&
                found->function == functions[index]->function) {
                functions[index]->found = found;
            }
        }
    }
    return result;
}

static uint8_t *memory_at(uintptr_t address)
{
    if (address < FAKE_MEMORY || address - FAKE_MEMORY > FAKE_MEMORY_BYTES - 4) {
        abort();
    }
    return &fake_memory[address - FAKE_MEMORY];
}

uint32_t device_read32(uintptr_t address)
{
    uint32_t value;

    memcpy(&value, memory_at(address), sizeof(value));
    return value;
}

void device_write32(uintptr_t address, uint32_t value)
{
    if (fake_memory_write != NULL) {
        fake_memory_write(address, value);
    }
    memcpy(memory_at(address), &value, sizeof(value));
}

uintptr_t arch_mmu_map_device(uint64_t address, size_t bytes)
{
    bool memory = address >= FAKE_MEMORY && address + bytes <= FAKE_MEMORY + FAKE_MEMORY_BYTES;
    bool ports = address >= FAKE_PORTS && address + bytes <= FAKE_PORTS + FAKE_PORTS_BYTES;

    return memory || ports ? (uintptr_t)address : 0;
}

void *heap_allocate(size_t bytes)
{
    return malloc(bytes);
}

void print(const char *format, ...)
{
    (void)format;
    fake_counts.messages++;
}

interrupt_state interrupts_save(void)
{
    return 0;
}

void interrupts_restore(interrupt_state state)
{
    (void)state;
}

bool interrupt_message_controller(int node)
{
    return !fake_controller.absent && node >= 0 &&
           node == devicetree_next_compatible(-1, "arm,gic-v3-its");
}

enum result interrupt_message_prepare(uint32_t highest_device_id)
{
    fake_controller.prepared = highest_device_id;
    return RESULT_OK;
}

enum result interrupt_message_allocate(uint32_t device_id, uint32_t event, uint32_t *number,
                                       struct interrupt_message *message)
{
    fake_controller.device_id = device_id;
    fake_controller.event = event;
    *number = 8192 + event;
    message->address = UINT64_C(0x123456780);
    message->data = event;
    return RESULT_OK;
}

enum result interrupt_attach(uint32_t number, enum interrupt_trigger trigger,
                             interrupt_handler function, void *argument)
{
    (void)argument;
    if (number < 8192 || trigger != INTERRUPT_EDGE) {
        return RESULT_INVALID;
    }
    if (fake_controller.attach_result == RESULT_OK) {
        fake_controller.handler = function;
        fake_controller.attached++;
    }
    return fake_controller.attach_result;
}

enum result interrupt_detach(uint32_t number, interrupt_handler function, void *argument)
{
    (void)number;
    (void)argument;
    if (fake_controller.handler != function || fake_controller.attached == 0) {
        return RESULT_NOT_FOUND;
    }
    fake_controller.attached--;
    return RESULT_OK;
}
