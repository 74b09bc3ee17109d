/* SPDX-License-Identifier: BSD-2-Clause */
#include "interface.h"

#include "gic/list_register.h"
#include "gic/system_registers.h"
#include "machine.h"
#include <devices/gic_registers.h>
#include <string.h>

#define CORE 1u

static struct interface *own(void)
{
    return &machine->interface;
}

static struct gic_bank *bank_of(uint32_t number)
{
    return number < 32 ? &machine->gic.redistributors[CORE].bank : &machine->gic.distributor;
}

static bool bit(const uint32_t *words, uint32_t number)
{
    return (words[number / 32] >> number % 32 & 1) != 0;
}

static void set_bit(uint32_t *words, uint32_t number, bool value)
{
    words[number / 32] &= ~(UINT32_C(1) << number % 32);
    words[number / 32] |= (uint32_t)value << number % 32;
}

static bool is_level(uint32_t number)
{
    return (bank_of(number)->triggers[number / 16] >> (number % 16 * 2 + 1) & 1) == 0;
}

void interface_reset(struct interface *interface)
{
    memset(interface, 0, sizeof(*interface));
    interface->list_count = INTERFACE_LISTS;
    interface->running = INTERFACE_IDLE;
}

void interface_sample(void)
{
    for (uint32_t number = 0; number <= GIC_SPI_LAST; number++) {
        if (is_level(number)) {
            set_bit(bank_of(number)->pending, number, bit(own()->lines, number));
        }
    }
}

void interface_set_line(uint32_t number, bool asserted)
{
    set_bit(own()->lines, number, asserted);
    interface_sample();
}

static uint32_t most_urgent(void)
{
    uint32_t found = INTERFACE_NONE, priority = own()->mask;

    for (uint32_t number = 0; number <= GIC_SPI_LAST; number++) {
        const struct gic_bank *bank = bank_of(number);

        if ((bit(bank->enabled, number) || bit(bank->disabling, number)) &&
            bit(bank->pending, number) && bit(bank->groups, number) && !bit(bank->active, number) &&
            bank->priorities[number] < priority) {
            found = number;
            priority = bank->priorities[number];
        }
    }
    return found;
}

void interface_synchronize(void)
{
    own()->has_written_lists = false;
}

bool interface_is_signalled(void)
{
    gic_model_pass_time(&machine->gic);
    interface_sample();
    return most_urgent() != INTERFACE_NONE;
}

bool interface_has_pending(void)
{
    for (unsigned i = 0; i < own()->list_count; i++) {
        if ((own()->lists[i] & LIST_STATE) == LIST_PENDING) {
            return true;
        }
    }
    return false;
}

bool interface_needs_maintenance(void)
{
    unsigned used = 0, pending = 0, notices = 0;

    for (unsigned i = 0; i < own()->list_count; i++) {
        used += (own()->lists[i] & LIST_STATE) != 0;
        pending += (own()->lists[i] & LIST_STATE) == LIST_PENDING;
        notices += list_register_has_notice(own()->lists[i]);
    }
    return notices != 0 || ((own()->control & LIST_CONTROL_NONE_PENDING) != 0 && pending == 0) ||
           ((own()->control & LIST_CONTROL_UNDERFLOW) != 0 && used <= 1) ||
           ((own()->control & LIST_CONTROL_ABSENT) != 0 && own()->ends != 0);
}

static uint32_t guest_running(void)
{
    return own()->nested_count == 0 ? INTERFACE_IDLE
                                    : own()->nested[own()->nested_count - 1].priority;
}

static unsigned guest_next(void)
{
    uint32_t priority = guest_running();
    unsigned found = own()->list_count;

    for (unsigned i = 0; i < own()->list_count; i++) {
        uint64_t value = own()->lists[i];

        if ((value & LIST_STATE) == LIST_PENDING && list_register_priority(value) < priority) {
            found = i;
            priority = list_register_priority(value);
        }
    }
    return found;
}

uint32_t interface_guest_pending(void)
{
    unsigned index = guest_next();

    return index == own()->list_count ? INTERFACE_IDLE
                                      : list_register_priority(own()->lists[index]);
}

uint32_t interface_guest_acknowledge(void)
{
    unsigned index = guest_next();
    uint64_t *list = &own()->lists[index];

    if (index == own()->list_count) {
        return INTERFACE_NONE;
    }
    *list ^= LIST_STATE;
    own()->nested[own()->nested_count].number = list_register_number(*list);
    own()->nested[own()->nested_count++].priority = list_register_priority(*list);
    return list_register_number(*list);
}

void interface_guest_deactivate(uint32_t number)
{
    for (unsigned i = 0; i < own()->list_count; i++) {
        uint64_t *list = &own()->lists[i];

        if ((*list & LIST_ACTIVE) != 0 && list_register_number(*list) == number) {
            *list &= ~LIST_ACTIVE;
            if ((*list & LIST_HARDWARE) != 0) {
                gic_registers_deactivate((uint32_t)(*list >> LIST_PHYSICAL_SHIFT) & 0x1fff);
            }
            return;
        }
    }
    own()->ends++;
}

void interface_guest_end(void)
{
    uint32_t number = own()->nested[--own()->nested_count].number;

    if (!own()->guest_splits) {
        interface_guest_deactivate(number);
    }
}

/* 5 bits of priorities, 16 of INTIDs, and A3V. */
uint64_t gic_registers_virtual_type(void)
{
    return UINT64_C(4) << 29 | UINT64_C(4) << 26 | UINT64_C(1) << 21 |
           (own()->has_no_trap_of_deactivation ? 0 : ICH_VTR_TRAP_DIR) | (own()->list_count - 1);
}

uint64_t gic_registers_guest_control(void)
{
    return own()->guest_control | (own()->guest_splits ? ICH_VMCR_SPLIT : 0);
}

void gic_registers_set_guest_control(uint64_t value)
{
    own()->guest_control = value & ~ICH_VMCR_SPLIT;
    own()->guest_splits = (value & ICH_VMCR_SPLIT) != 0;
}

bool gic_registers_guest_splits_end(void)
{
    return own()->guest_splits;
}

uint32_t gic_registers_guest_running_priority(void)
{
    return guest_running();
}

void gic_registers_reset_virtual(void)
{
    own()->nested_count = 0;
}

unsigned gic_registers_priority_bits(void)
{
    return 5;
}

/* PRIbits, IDbits, A3V and RSS, and ExtRange, which guests do not see. */
uint64_t gic_registers_control(void)
{
    return 0xc8400 | (own()->is_split ? ICC_CTLR_EOI_MODE : 0);
}

void gic_registers_set_control(uint64_t value)
{
    gic_model_require((value & ~ICC_CTLR_EOI_MODE) == 0, "CBPR and PMHE stay 0", value);
    own()->is_split = value != 0;
}

bool gic_registers_ends_are_split(void)
{
    return own()->is_split;
}

void gic_registers_split_ends(void)
{
    own()->is_split = true;
}

void gic_registers_enable_group1(void)
{
}

bool gic_registers_mask_has_lowest_priority(void)
{
    return own()->is_raw || !machine->gic.two_securities;
}

uint32_t gic_registers_acknowledge_group1(void)
{
    uint32_t number;

    gic_model_pass_time(&machine->gic);
    interface_sample();
    number = most_urgent();
    if (number != INTERFACE_NONE) {
        own()->running = bank_of(number)->priorities[number];
        set_bit(bank_of(number)->active, number, true);
        set_bit(bank_of(number)->pending, number, false);
        interface_sample();
    }
    return number;
}

uint32_t gic_registers_running_priority(void)
{
    return own()->is_raw ? 0x80 | own()->running >> 1 : own()->running;
}

void gic_registers_drop_group1(uint32_t number)
{
    gic_model_require(own()->running != INTERFACE_IDLE, "a priority is dropped once", number);
    own()->running = INTERFACE_IDLE;
    if (!own()->is_split) {
        gic_registers_deactivate(number);
    }
}

void gic_registers_deactivate(uint32_t number)
{
    gic_model_require(bit(bank_of(number)->active, number), "what is deactivated is active",
                      number);
    set_bit(bank_of(number)->active, number, false);
}

void gic_registers_mask(uint32_t priority)
{
    uint32_t mask = priority;

    if (own()->is_raw) {
        mask = priority < 0x80 ? 0 : priority << 1 & 0xff;
    }
    gic_model_require(mask >= 0x10, "the hypervisor's interrupts are never masked", priority);
    own()->mask = mask;
}

void gic_registers_control_lists(uint64_t value)
{
    gic_model_require(!own()->has_no_trap_of_deactivation || (value & LIST_CONTROL_TRAP_DIR) == 0,
                      "TDIR is set only if it exists (ICH_VTR_EL2.TDS)", value);
    own()->control = value & ~LIST_CONTROL_ENDS;
    own()->ends = (uint32_t)((value & LIST_CONTROL_ENDS) >> LIST_CONTROL_ENDS_SHIFT);
}

uint64_t gic_registers_list_control(void)
{
    return own()->control | (uint64_t)own()->ends << LIST_CONTROL_ENDS_SHIFT;
}

unsigned gic_registers_list_count(void)
{
    return own()->list_count;
}

void gic_registers_settle_lists(void)
{
    interface_synchronize();
}

uint32_t gic_registers_free_lists(void)
{
    uint32_t free = 0;

    gic_model_require(!own()->has_written_lists,
                      "ICH_ELRSR_EL2 is read after a context synchronization event", 0);
    for (unsigned i = 0; i < own()->list_count; i++) {
        free |= (uint32_t)((own()->lists[i] & LIST_STATE) == 0 &&
                           !list_register_has_notice(own()->lists[i]))
                << i;
    }
    return free;
}

void gic_registers_list(unsigned index, uint64_t value)
{
    bool is_hardware = (value & LIST_HARDWARE) != 0;

    gic_model_require(index < own()->list_count, "the list register exists", index);
    gic_model_require((value & LIST_STATE) == 0 || (value & LIST_GROUP1) != 0, "Group 1", value);
    gic_model_require(!is_hardware || (value & LIST_STATE) != LIST_STATE,
                      "a hardware interrupt is not active and pending (ICH_LR<n>_EL2)", value);
    own()->lists[index] = value;
    own()->has_written_lists = true;
    for (unsigned i = 0; i < own()->list_count; i++) {
        gic_model_require(i == index || (value & LIST_STATE) == 0 ||
                              (own()->lists[i] & LIST_STATE) == 0 ||
                              list_register_number(own()->lists[i]) != list_register_number(value),
                          "an interrupt is in one list register only", value);
    }
}

uint64_t gic_registers_listed(unsigned index)
{
    gic_model_require(index < own()->list_count, "the list register exists", index);
    return own()->lists[index];
}

uint64_t interface_read(const char *name)
{
    return strcmp(name, ICH_HCR_EL2) == 0 ? gic_registers_list_control() : 0;
}

void interface_write(const char *name, uint64_t value)
{
    if (strcmp(name, ICH_HCR_EL2) == 0) {
        gic_registers_control_lists(value);
    }
}
