/* SPDX-License-Identifier: BSD-2-Clause */
#include "registers.h"
#include "qemu_plugin.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define GENERAL_REGISTERS 31u
#define NAME_BYTES        8u
#define LEVEL_SHIFT       2u /* of PSTATE.EL in QEMU's "cpsr" */
#define LEVEL_MASK        3u

/* Names of QEMU's registers, and the fields that have their values. */
static const struct {
    const char *name;
    size_t offset;
} fields[] = {
    {"SCTLR", offsetof(struct translation_registers, sctlr_el1)},
    {"TTBR0_EL1", offsetof(struct translation_registers, ttbr0_el1)},
    {"TTBR1_EL1", offsetof(struct translation_registers, ttbr1_el1)},
    {"TCR_EL1", offsetof(struct translation_registers, tcr_el1)},
    {"HCR_EL2", offsetof(struct translation_registers, hcr_el2)},
    {"VTTBR_EL2", offsetof(struct translation_registers, vttbr_el2)},
    {"VTCR_EL2", offsetof(struct translation_registers, vtcr_el2)},
    {"SCTLR_EL2", offsetof(struct translation_registers, sctlr_el2)},
    {"TTBR0_EL2", offsetof(struct translation_registers, ttbr0_el2)},
    {"TCR_EL2", offsetof(struct translation_registers, tcr_el2)},
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static struct {
    struct qemu_plugin_register *fields[FIELDS];
    struct qemu_plugin_register *state; /* PSTATE */
    struct qemu_plugin_register *program_counter;
    struct qemu_plugin_register *general[GENERAL_REGISTERS];
    struct glib_byte_array *value; /* of the register that was read last */
} handles;

static struct qemu_plugin_register *handle_of(const struct glib_array *all, const char *name)
{
    for (unsigned i = 0; i < all->length; i++) {
        struct qemu_plugin_reg_descriptor each;

        memcpy(&each, all->data + i * sizeof(each), sizeof(each));
        if (strcmp(each.name, name) == 0) {
            return each.handle;
        }
    }
    return NULL;
}

bool registers_find(void)
{
    struct glib_array *all = qemu_plugin_get_registers();
    bool has_all;

    handles.state = handle_of(all, "cpsr");
    handles.program_counter = handle_of(all, "pc");
    has_all = handles.state != NULL && handles.program_counter != NULL;
    for (size_t i = 0; i < FIELDS; i++) {
        handles.fields[i] = handle_of(all, fields[i].name);
        has_all = has_all && handles.fields[i] != NULL;
    }
    for (unsigned i = 0; i < GENERAL_REGISTERS; i++) {
        char name[NAME_BYTES];

        (void)snprintf(name, sizeof(name), "x%u", i);
        handles.general[i] = handle_of(all, name);
        has_all = has_all && handles.general[i] != NULL;
    }
    (void)g_array_free(all, 1);
    if (handles.value == NULL) {
        handles.value = g_byte_array_new();
    }
    return has_all;
}

static uint64_t read_register(struct qemu_plugin_register *handle)
{
    uint64_t value = 0;

    (void)g_byte_array_set_size(handles.value, 0);
    (void)qemu_plugin_read_register(handle, handles.value);
    memcpy(&value, handles.value->data,
           handles.value->length < sizeof(value) ? handles.value->length : sizeof(value));
    return value;
}

uint32_t registers_exception_level(void)
{
    return (uint32_t)(read_register(handles.state) >> LEVEL_SHIFT) & LEVEL_MASK;
}

/* QEMU updates the program counter before each block, and not before each instruction in it. */
uint64_t registers_block_address(void)
{
    return read_register(handles.program_counter);
}

void registers_read(struct translation_registers *registers)
{
    for (size_t i = 0; i < FIELDS; i++) {
        uint64_t value = read_register(handles.fields[i]);

        memcpy((char *)registers + fields[i].offset, &value, sizeof(value));
    }
}

uint64_t registers_general(uint32_t number)
{
    return number < GENERAL_REGISTERS ? read_register(handles.general[number]) : 0;
}
