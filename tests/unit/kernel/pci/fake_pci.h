/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PCI hierarchy in the test process: functions (hardware_models/pci) below bridges that route by
 * the bus numbers written to them, memory behind the host bridge's narrow window, and an interrupt
 * controller that remembers what it was asked.
 */
#ifndef FAKE_PCI_H
#define FAKE_PCI_H

#include "hardware_models/pci/pci.h"
#include "kernel/interrupt.h"
#include "kernel/pci.h"
#include <stdbool.h>
#include <stdint.h>

/* Of the configuration space, which is not Express's. */
#define FAKE_CONFIG_BYTES 256u

struct fake_function {
    struct fake_function *bridge; /* NULL: on the root bus */
    uint8_t device;
    uint8_t function;
    struct pci_model pci;
    struct pci_function *found; /* set by fake_enumerate() */
};

/* Starts over with an empty machine. */
void fake_reset(void);

/* A device or a bridge; owned by the fake. */
struct fake_function *fake_add(struct fake_function *bridge, uint8_t device, uint8_t function,
                               uint32_t id);
struct fake_function *fake_add_bridge(struct fake_function *bridge, uint8_t device, bool wide);
/* Calls pci_init() and looks up the kernel's structure of each function. */
enum result fake_enumerate(void);

/* Answers configuration reads instead of the functions, if set. */
extern uint32_t (*fake_answer)(uint8_t bus, uint8_t device_function, uint16_t offset);

struct fake_counts {
    unsigned reads;
    unsigned writes;
    unsigned messages; /* lines printed */
};
extern struct fake_counts fake_counts;

struct fake_controller {
    bool absent; /* no message-signalled interrupts */
    uint32_t prepared;
    uint32_t device_id; /* of the last allocation */
    uint32_t event;
    enum result attach_result;
    interrupt_handler handler;
    unsigned attached;
};
extern struct fake_controller fake_controller;

/* Memory behind the narrow window, where BARs are mapped. */
#define FAKE_MEMORY       UINT64_C(0x10000000)
#define FAKE_MEMORY_BYTES ((size_t)0x800000)

/* I/O space as the processor sees it (virt.dts). */
#define FAKE_PORTS       UINT64_C(0x3eff0000)
#define FAKE_PORTS_BYTES UINT64_C(0x10000)
extern uint8_t fake_memory[FAKE_MEMORY_BYTES];
/* Called before each write to that memory, if set. */
extern void (*fake_memory_write)(uintptr_t address, uint32_t value);

#endif
