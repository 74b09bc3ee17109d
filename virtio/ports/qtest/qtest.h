/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port to a QEMU whose processor is parked: the driver runs in this process and drives the
 * device models over there. Registers are reached by QEMU's qtest protocol
 * (docs/devel/testing/qtest in QEMU's sources), memory shared with the devices is the machine's
 * own, mapped here too, and interrupts are lines that QEMU reports or messages that arrive in that
 * memory.
 *
 * One machine a process, one thread. What QEMU answers is not trusted to make sense, but there is
 * nothing to go on with if it does not answer: every call then ends the process with a message.
 */
#ifndef VIRTIO_PORT_QTEST_H
#define VIRTIO_PORT_QTEST_H

#include "virtio/platform.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QTEST_LINES 256u /* interrupt lines followed */

/* What differs between the machines. Addresses are the machine's. */
struct qtest_machine {
    const char *name;
    const char *interrupt_controller; /* its path in QEMU's object tree */
    uint64_t ram;                     /* where the memory begins */
    uint64_t shared_from;             /* offset in it from which it is ours to give out */
    uint64_t configuration;           /* PCI configuration space (ECAM); 0: ports 0xcf8 and 0xcfc */
    uint64_t pci_ports;               /* where I/O space is in memory; 0: it has instructions */
    uint64_t pci_memory;              /* 32-bit window for BARs */
    uint64_t mmio;                    /* first virtio-mmio device; 0: none */
    unsigned mmio_line;               /* the first one's interrupt line; the others' follow */
    unsigned intx_line;               /* the first of four */
};

#define QTEST_MMIO_BYTES 0x200u /* registers of one virtio-mmio device */
#define QTEST_MMIO_COUNT 32u

/* By name ("virt", "q35"); NULL: there is none. */
const struct qtest_machine *qtest_find_machine(const char *name);

/*
 * Connects this process with a machine: `protocol` is the connected qtest socket, `memory` the file
 * behind the machine's memory of `memory_bytes`. Interrupts go to this process from now on. Once.
 */
void qtest_attach(const struct qtest_machine *machine, int protocol, int memory,
                  size_t memory_bytes);

/* The machine that was attached. */
const struct qtest_machine *qtest_attached(void);

/* Takes in what QEMU reports meanwhile, and waits for the first of it up to `milliseconds`. */
void qtest_wait(int milliseconds);
/* The level of an interrupt line, as far as reported. */
bool qtest_line(unsigned line);
/* The machine's memory at one of its addresses. The process ends if it is no memory. */
void *qtest_memory(uint64_t address, size_t bytes);

/* Bytes that are given out now: shared memory and the driver's own. */
size_t qtest_allocated(void);

/* One access to a register, for whoever watches what the driver does. */
struct qtest_access {
    virtio_register reg;
    unsigned bytes;
    bool is_write;
    uint32_t value; /* read or written */
};

/* Called after each access of the driver's (not of this port's own); NULL: nobody. */
void qtest_observe(void (*observer)(const struct qtest_access *access));

/* A register of I/O space: QTEST_PORT + its number. */
#define QTEST_PORT (UINT64_C(1) << 62)

/* PCI. */

#define QTEST_BARS          6u
#define QTEST_VECTORS       16u
#define QTEST_FUNCTIONS_MAX 64u

struct virtio_pci_function {
    uint8_t bus;
    uint8_t device;
    uint8_t function;
    uint16_t vendor_id;
    uint16_t device_id;
    struct qtest_bar {
        virtio_register reg; /* its first register; 0: absent */
        uint64_t bytes;
    } bar[QTEST_BARS];
    unsigned line; /* where its interrupt pin arrives */
    uint16_t msix; /* its MSI-X capability; 0: none */
    bool bridge;
};

/* Numbers all buses, gives every BAR its place, opens the bridges. Decoding and bus mastering of
 * devices stay off. Once. Returns how many functions there are. */
unsigned qtest_pci_enumerate(void);
/* The functions in the order of discovery; NULL behind the last. */
struct virtio_pci_function *qtest_pci_function(unsigned index);

/* Switches MSI-X on with the first `vectors` vectors routed and the others masked; returns how many
 * of them the function has. */
unsigned qtest_msix_enable(struct virtio_pci_function *function, unsigned vectors);
void qtest_msix_disable(struct virtio_pci_function *function);
/* Whether a message of this vector has come since this was last asked. */
bool qtest_msix_take(unsigned vector);

/* Registers and memory by qtest, not seen by the observer. `bytes` is 1, 2 or 4. */
uint32_t qtest_read(virtio_register reg, unsigned bytes);
void qtest_write(virtio_register reg, unsigned bytes, uint32_t value);

#endif
