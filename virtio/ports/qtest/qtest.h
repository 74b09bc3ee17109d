/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port to a QEMU whose processor does not run: the driver runs in this process and drives
 * QEMU's device models. Register accesses use QEMU's qtest protocol (docs/devel/testing/qtest in
 * QEMU's sources). The memory shared with the devices is the machine's memory, which this process
 * maps. Interrupts are lines that QEMU reports, or messages that it writes to that memory.
 *
 * One machine for each process; one thread. If QEMU does not answer, or answers nonsense, every
 * call ends the process with a message.
 */
#ifndef VIRTIO_PORT_QTEST_H
#define VIRTIO_PORT_QTEST_H

#include "virtio/platform.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QTEST_LINES 256u /* interrupt lines whose level is known */

/* Properties of a machine. Addresses are physical addresses of the machine. */
struct qtest_machine {
    const char *name;
    const char *interrupt_controller; /* path in QEMU's object tree */
    uint64_t ram;                     /* start of the memory */
    uint64_t shared_from;             /* offset in the memory from which this port allocates */
    uint64_t configuration;           /* PCI configuration space (ECAM); 0: ports 0xcf8 and 0xcfc */
    uint64_t pci_ports;               /* memory-mapped I/O space; 0: I/O instructions */
    uint64_t pci_memory;              /* 32-bit window for BARs */
    uint64_t mmio;                    /* first virtio-mmio device; 0: none */
    unsigned mmio_line;               /* interrupt line of the first one; the others follow */
    unsigned intx_line;               /* the first of four */
};

#define QTEST_MMIO_BYTES 0x200u /* registers of one virtio-mmio device */
#define QTEST_MMIO_COUNT 32u

/* Returns the machine with this name ("virt", "q35"), NULL if there is none. */
const struct qtest_machine *qtest_find_machine(const char *name);

/*
 * Connects this process to a machine: `protocol` is the connected qtest socket, `memory` the file
 * of the machine's memory of `memory_bytes`. From now on QEMU reports interrupts to this process.
 * Call it once.
 */
void qtest_attach(const struct qtest_machine *machine, int protocol, int memory,
                  size_t memory_bytes);

/* Returns the attached machine. */
const struct qtest_machine *qtest_attached(void);

/* Receives QEMU's reports of interrupts. Waits at most `milliseconds` for the first one. */
void qtest_wait(int milliseconds);
/* Returns the last reported level of an interrupt line. */
bool qtest_line(unsigned line);
/* Returns the mapping of the machine's memory at a physical address. Ends the process if there is
 * no memory at that address. */
void *qtest_memory(uint64_t address, size_t bytes);

/* Returns the number of bytes that are allocated now: shared and private memory. */
size_t qtest_allocated(void);

/* The description of a register access for the observer. */
struct qtest_access {
    virtio_register reg;
    unsigned bytes;
    bool is_write;
    uint32_t value; /* the value read or written */
};

/* Sets a function that is called after each register access by the driver, but not by this port.
 * NULL means no function. */
void qtest_observe(void (*observer)(const struct qtest_access *access));

/* Register address of an I/O port: QTEST_PORT + number of the port. */
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
        virtio_register reg; /* first register; 0: the BAR does not exist */
        uint64_t bytes;
    } bar[QTEST_BARS];
    unsigned line; /* interrupt line of its pin */
    uint16_t msix; /* offset of the MSI-X capability; 0: none */
    bool bridge;
};

/* Numbers all buses, assigns all BARs and opens the bridges' windows. Decoding and bus mastering of
 * devices stay off. Returns the number of functions. Call it once. */
unsigned qtest_pci_enumerate(void);
/* Returns a function by its number in the order of discovery, NULL after the last one. */
struct virtio_pci_function *qtest_pci_function(unsigned index);

/* Enables MSI-X with the first `vectors` vectors routed and the others masked. Returns how many of
 * them the function has. */
unsigned qtest_msix_enable(struct virtio_pci_function *function, unsigned vectors);
void qtest_msix_disable(struct virtio_pci_function *function);
/* Returns true if a message of this vector has arrived since the last call. */
bool qtest_msix_take(unsigned vector);

/* Access registers and memory by qtest, without the observer. `bytes` is 1, 2 or 4. */
uint32_t qtest_read(virtio_register reg, unsigned bytes);
void qtest_write(virtio_register reg, unsigned bytes, uint32_t value);

#endif
