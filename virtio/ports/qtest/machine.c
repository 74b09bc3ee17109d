/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines, their memory, and the qtest protocol. */
#include "qtest.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINE_BYTES          256u
#define ANSWER_MILLISECONDS 60000

/* From hw/arm/virt.c and hw/i386/pc_q35.c in QEMU's sources. */
static const struct qtest_machine machines[] = {
    {
        .name = "virt",
        .interrupt_controller = "/machine/unattached/device[1]", /* after the one processor */
        .ram = 0x40000000,
        .shared_from = 0x200000,
        .configuration = 0x4010000000,
        .pci_ports = 0x3eff0000,
        .pci_memory = 0x10000000,
        .mmio = 0x0a000000,
        .mmio_line = 16,
        .intx_line = 3,
    },
    {
        .name = "q35",
        .interrupt_controller = "ioapic",
        .ram = 0,
        .shared_from = 0x1000000, /* above the areas of a PC below 1 MiB */
        .pci_memory = 0xc0000000,
        .intx_line = 20,
    },
};

static struct {
    const struct qtest_machine *machine;
    int protocol;
    uint8_t *memory;
    size_t memory_bytes;
    bool level[QTEST_LINES];
    char received[4096]; /* not yet a whole line */
    size_t received_bytes;
} port = {.protocol = -1};

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)fputs("qtest: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    exit(3);
}

const struct qtest_machine *qtest_find_machine(const char *name)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (strcmp(machines[i].name, name) == 0) {
            return &machines[i];
        }
    }
    return NULL;
}

const struct qtest_machine *qtest_attached(void)
{
    return port.machine;
}

/* Returns true if data have arrived. */
static bool receive(int milliseconds)
{
    struct pollfd poll_for = {.fd = port.protocol, .events = POLLIN};
    ssize_t bytes;
    int ready = poll(&poll_for, 1, milliseconds);

    if (ready <= 0) {
        return false;
    }
    if (port.received_bytes == sizeof(port.received)) {
        fail("QEMU sends a line without an end");
    }
    bytes = read(port.protocol, port.received + port.received_bytes,
                 sizeof(port.received) - port.received_bytes);
    if (bytes <= 0) {
        fail("QEMU has closed the connection");
    }
    port.received_bytes += (size_t)bytes;
    return true;
}

/* "IRQ raise NUMBER" or "IRQ lower NUMBER" */
static void handle_report(const char *line)
{
    static const char raise[] = "IRQ raise ";
    static const char lower[] = "IRQ lower ";
    bool level = strncmp(line, raise, sizeof(raise) - 1) == 0;

    if (level || strncmp(line, lower, sizeof(lower) - 1) == 0) {
        unsigned long number = strtoul(line + sizeof(raise) - 1, NULL, 10);

        if (number < QTEST_LINES) {
            port.level[number] = level;
        }
    }
}

/* Handles interrupt reports and copies the first other complete line. Returns false if there is
 * none. */
static bool next_answer(char line[LINE_BYTES])
{
    char *end;

    while ((end = memchr(port.received, '\n', port.received_bytes)) != NULL) {
        size_t bytes = (size_t)(end - port.received);

        if (bytes >= LINE_BYTES) {
            fail("QEMU answers with %zu bytes", bytes);
        }
        memcpy(line, port.received, bytes);
        line[bytes] = 0;
        port.received_bytes -= bytes + 1;
        memmove(port.received, end + 1, port.received_bytes);
        if (strncmp(line, "IRQ ", 4) != 0) {
            return true;
        }
        handle_report(line);
    }
    return false;
}

static uint64_t command(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends a command and waits for its answer. Returns the number in the answer, 0 if there is none.
 */
static uint64_t command(const char *format, ...)
{
    char request[LINE_BYTES];
    char answer[LINE_BYTES];
    va_list arguments;
    int bytes;

    va_start(arguments, format);
    bytes = vsnprintf(request, sizeof(request), format, arguments);
    va_end(arguments);
    if (write(port.protocol, request, (size_t)bytes) != bytes) {
        fail("QEMU does not take %s", request);
    }
    while (!next_answer(answer)) {
        if (!receive(ANSWER_MILLISECONDS)) {
            fail("QEMU does not answer %s", request);
        }
    }
    if (strncmp(answer, "OK", 2) != 0) {
        fail("QEMU answers %s to %s", answer, request);
    }
    return strtoull(answer + 2, NULL, 0);
}

void qtest_wait(int milliseconds)
{
    char line[LINE_BYTES];

    /* Reports may have arrived together with the last answer. */
    do {
        if (port.received_bytes != 0) {
            milliseconds = 0;
        }
        if (next_answer(line)) {
            fail("QEMU answers %s to nothing", line);
        }
    } while (receive(milliseconds));
}

bool qtest_line(unsigned line)
{
    return line < QTEST_LINES && port.level[line];
}

void *qtest_memory(uint64_t address, size_t bytes)
{
    uint64_t offset = address - port.machine->ram;

    if (address < port.machine->ram || offset > port.memory_bytes ||
        bytes > port.memory_bytes - offset) {
        fail("no memory at %#" PRIx64, address);
    }
    return port.memory + offset;
}

void qtest_attach(const struct qtest_machine *machine, int protocol, int memory,
                  size_t memory_bytes)
{
    void *mapped = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

    if (mapped == MAP_FAILED) {
        fail("the machine's memory can't be mapped: %s", strerror(errno));
    }
    port.machine = machine;
    port.protocol = protocol;
    port.memory = mapped;
    port.memory_bytes = memory_bytes;
    (void)command("irq_intercept_in %s\n", machine->interrupt_controller);
}

static char width(unsigned bytes)
{
    return bytes == 1 ? 'b' : bytes == 2 ? 'w' : 'l';
}

uint32_t qtest_read(virtio_register reg, unsigned bytes)
{
    if (reg >= QTEST_PORT) {
        return (uint32_t)command("in%c %#" PRIx64 "\n", width(bytes), (uint64_t)reg - QTEST_PORT);
    }
    return (uint32_t)command("read%c %#" PRIx64 "\n", width(bytes), (uint64_t)reg);
}

void qtest_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    if (reg >= QTEST_PORT) {
        (void)command("out%c %#" PRIx64 " %#" PRIx32 "\n", width(bytes), (uint64_t)reg - QTEST_PORT,
                      value);
    } else {
        (void)command("write%c %#" PRIx64 " %#" PRIx32 "\n", width(bytes), (uint64_t)reg, value);
    }
}
