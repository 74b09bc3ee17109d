/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI Express behind a generic ECAM host bridge from the devicetree ("pci-host-ecam-generic"):
 * enumeration over bridges, BAR assignment from the host's windows, INTx by interrupt-map, MSI-X by
 * msi-map. Thread context.
 */
#ifndef KERNEL_PCI_H
#define KERNEL_PCI_H

#include "kernel/interrupt.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stdint.h>

#define PCI_BAR_COUNT 6u

struct pci_function {
    struct pci_function *next; /* all functions found, in bus order */
    uint8_t bus;
    uint8_t device;   /* 0..31 */
    uint8_t function; /* 0..7 */
    uint16_t vendor_id;
    uint16_t device_id;
    uint32_t class_code; /* class, subclass, interface, revision */
    struct pci_bar {
        uint64_t address;  /* as the processor sees it; 0: absent, I/O space or not assigned */
        uint64_t bytes;    /* 0: absent or I/O space */
        uintptr_t mapping; /* where it is mapped, 0 until pci_map_bar() */
        uint32_t ports;    /* bytes of I/O space, once pci_map_ports() gave it a place */
        bool wide;         /* 64-bit: the next BAR is its upper half */
        bool prefetchable;
    } bar[PCI_BAR_COUNT];
    uint16_t msix_capability;    /* offset in configuration space, 0: none */
    uint8_t header_type;         /* 0: device, 1: bridge */
    struct pci_function *bridge; /* whose secondary bus it is on; NULL: the root bus */
};

/* BARs larger than this are not mapped. */
#define PCI_MAP_BYTES_MAX (UINT64_C(64) * 1024 * 1024)

/* Finds and enumerates the host bridge. Every function found is off afterwards: no decoding, no bus
 * mastering, no INTx. BARs of the root bus that lie in a window of the host bridge already stay
 * where they are. Limits: the first host bridge, 128 functions, bridges 8 deep. Once, at boot.
 * RESULT_NOT_FOUND (the devicetree has none), RESULT_INVALID (malformed), RESULT_NO_MEMORY. */
enum result pci_init(void);
struct pci_function *pci_first(void);

/* Naturally aligned `bytes` of 1, 2 or 4 at `offset` < 4096; all ones, or nothing written, if it is
 * anything else. */
uint32_t pci_config_read(const struct pci_function *function, uint16_t offset, unsigned bytes);
void pci_config_write(const struct pci_function *function, uint16_t offset, unsigned bytes,
                      uint32_t value);

/* Maps a memory BAR as device memory; 0 if it has none or it cannot be mapped. Idempotent. */
uintptr_t pci_map_bar(struct pci_function *function, unsigned index);
/*
 * Gives a BAR in I/O space its place and maps it as device memory; *bytes is its size. 0: it is
 * none of I/O space, the host bridge has no window for it, or a bridge lies in between. Before the
 * function decodes I/O space. Idempotent.
 */
uintptr_t pci_map_ports(struct pci_function *function, unsigned index, uint32_t *bytes);
/* Memory decoding, bus mastering, and INTx as long as MSI-X is off. */
void pci_enable(struct pci_function *function);
/*
 * Makes a function work again that was reset or switched off and on behind our back: its BARs are
 * where they were, and it is enabled. Of one that was not reset nothing changes. MSI-X is off after
 * a reset: its vectors are to be detached and attached. RESULT_NOT_FOUND: it does not answer (yet),
 * or another device has taken its place.
 */
enum result pci_restore(struct pci_function *function);
/* The interrupt its INTx pin arrives at. RESULT_NOT_FOUND (no pin, or not mapped). */
enum result pci_intx(const struct pci_function *function, uint32_t *number,
                     enum interrupt_trigger *trigger);

/* Number of MSI-X vectors (table size), 0 without the capability or on a machine without
 * message-signalled interrupts. */
unsigned pci_msix_vectors(const struct pci_function *function);
/* Routes vector `vector` to a handler and unmasks it; enables MSI-X on first use, which turns INTx
 * off. RESULT_INVALID (no such vector, or the table is not where it can be), RESULT_BUSY (it has a
 * handler), or what interrupt_message_allocate() answers. */
enum result pci_msix_attach(struct pci_function *function, unsigned vector,
                            interrupt_handler handler, void *argument);
/* Masks the vector and takes its handler away. RESULT_INVALID, RESULT_NOT_FOUND. */
enum result pci_msix_detach(struct pci_function *function, unsigned vector,
                            interrupt_handler handler, void *argument);

/* The interrupt that the vector arrives at. What pci_msix_attach() answers. */
enum result pci_msix_number(const struct pci_function *function, unsigned vector, uint32_t *number);

#endif
