/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_fixture.h"

#include "console/input_flow.h"
#include <arch/device_access.h>
#include <gic/setup.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With its state, so that each test has a new one. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "console/terminal.c"

struct fake fake;
struct description fixture_system;
struct partition fixture_partitions[PARTITIONS];
static size_t printed_seen;

static void require(bool right, const char *what)
{
    if (!right) {
        (void)fprintf(stderr, "not so: %s\n", what);
        abort();
    }
}

uint32_t device_read32(uintptr_t address)
{
    require(address == FIXTURE_UART + UARTFR || address == FIXTURE_UART + UARTDR,
            "only flags and data are read");
    if (address == FIXTURE_UART + UARTFR) {
        fake.looks++;
        return (fake.full ? FLAG_TRANSMIT_FULL : FLAG_TRANSMIT_EMPTY) |
               (fake.typed_bytes == 0 ? FLAG_RECEIVE_EMPTY : 0);
    }
    require(fake.typed_bytes != 0, "there is input when it is read");
    fake.typed_bytes--;
    return fake.typed[fake.typed_first++];
}

void device_write32(uintptr_t address, uint32_t value)
{
    switch (address - FIXTURE_UART) {
    case UARTDR:
        require(!fake.full, "there is room for what is sent");
        require(fake.printed_bytes + 1 < sizeof(fake.printed), "the test has room for it");
        fake.printed[fake.printed_bytes++] = (char)value;
        fake.printed[fake.printed_bytes] = '\0';
        if (fake.yields && fake.printed_bytes % 500 == 0) {
            (void)sched_yield();
        }
        break;
    case UARTLCRH:
        fake.line_control = value;
        break;
    case UARTCR:
        fake.control = value;
        break;
    case UARTIMSC:
        fake.mask = value;
        break;
    case UARTICR:
        fake.cleared = value;
        break;
    default:
        require(false, "only these registers are written");
    }
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    bool known = false;

    for (uint32_t i = 0; i < PARTITIONS; i++) {
        if (system->partitions[i].console_interrupt == interrupt) {
            known = interrupt != 0;
            fake.raised[i]++;
        }
    }
    require(known, "it is a console's interrupt");
}

void gic_route(const struct description *system, uint32_t interrupt, uint32_t core)
{
    require(system == &fixture_system && core < system->core_count, "it is a core of the system");
    require(interrupt == FIXTURE_UART_SPI, "it is the PL011's interrupt");
    fake.routes++;
    fake.route = core;
}

static void describe(void)
{
    static const char *const names[PARTITIONS] = {"control", "net", "linux"};

    memset(&fixture_system, 0, sizeof(fixture_system));
    memset(fixture_partitions, 0, sizeof(fixture_partitions));
    fixture_system.board.uart = FIXTURE_UART;
    fixture_system.board.uart_interrupt = FIXTURE_UART_SPI;
    fixture_system.partition_count = PARTITIONS;
    fixture_system.core_count = PARTITIONS;
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        struct description_partition *partition = &fixture_system.partitions[i];

        (void)snprintf(partition->name, sizeof(partition->name), "%s", names[i]);
        partition->console = i == 1 ? 0 : 0x9000000;
        partition->console_interrupt = i == 1 ? 0 : 40 + i;
        partition->vcpu_count = 1;
        partition->vcpus[0].core = PARTITIONS - 1 - i;
        fixture_partitions[i].constant.system = &fixture_system;
        fixture_partitions[i].constant.described = partition;
        fixture_partitions[i].constant.index = i;
    }
    fixture_system.partitions[2].console_input = 1;
}

void fixture_boot(void)
{
    memset(&terminal, 0, sizeof(terminal));
    terminal_init(FIXTURE_UART);
}

int fixture_set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    printed_seen = 0;
    describe();
    fixture_boot();
    terminal_share();
    input_start(&fixture_system);
    for (unsigned i = 0; i < PARTITIONS; i++) {
        uart_reset(&fixture_partitions[i]);
    }
    return 0;
}

void fixture_type(const char *text)
{
    size_t bytes = strlen(text);

    require(bytes <= sizeof(fake.typed), "the test has room for it");
    memcpy(fake.typed, text, bytes);
    fake.typed_first = 0;
    fake.typed_bytes = bytes;
    /* The interrupt is a level, so it is taken again as long as there is input. */
    for (unsigned times = 0; fake.typed_bytes != 0; times++) {
        require(times < 1000, "input is taken");
        fixture_interrupt();
        if ((fake.mask & INTERRUPT_RECEIVE) == 0) { /* a partition does not read */
            fake.now += 2 * FIXTURE_SECOND;
            input_flow_watch(&fixture_system, fake.now, FIXTURE_SECOND);
        }
    }
}

/* The monitor whose core is called by the one that reads the PL011 takes the keys. */
void fixture_interrupt(void)
{
    struct input_calls calls = input_receive(&fixture_system, fake.now);

    require((calls.recalled & ~calls.called) == 0 && calls.called >> PARTITIONS == 0,
            "partitions of the system are called");
    for (unsigned i = 0; i < PARTITIONS; i++) {
        /* Keys that found the virtual PL011 full follow when the guest has emptied it. */
        require((calls.called >> i & 1) != 0 || !terminal_has_key(i) ||
                    fixture_partitions[i].uart.input_count != 0,
                "who has keys is called");
        do {
            fake.request[i] = input_take(&fixture_partitions[i]);
        } while (fake.request[i] == REQUEST_NONE && input_can_take(&fixture_partitions[i]));
    }
}

void fixture_send_output(void)
{
    for (unsigned times = 0; !fake.full && (fake.mask & INTERRUPT_TRANSMIT) != 0; times++) {
        require(times < 1000, "output is sent");
        fixture_interrupt();
    }
}

const char *fixture_printed(void)
{
    const char *text = fake.printed + printed_seen;

    fixture_send_output();
    printed_seen = fake.printed_bytes;
    return text;
}

void fixture_write(unsigned partition, uint32_t offset, uint32_t value)
{
    struct access access = {.offset = offset, .value = value, .bytes = 4, .write = true};

    require(uart_access(&fixture_partitions[partition], &access) == ACCESS_DONE, "it is done");
}

uint32_t fixture_read(unsigned partition, uint32_t offset)
{
    struct access access = {.offset = offset, .value = UINT64_MAX, .bytes = 4};

    require(uart_access(&fixture_partitions[partition], &access) == ACCESS_DONE, "it is done");
    require(access.value <= UINT16_MAX, "no register has more bits");
    return (uint32_t)access.value;
}

void fixture_send(unsigned partition, const char *text)
{
    while (*text != '\0') {
        require((fixture_read(partition, UARTFR) & FLAG_TRANSMIT_FULL) == 0, "there is room");
        fixture_write(partition, UARTDR, (uint8_t)*text++);
    }
}
