/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations shared by the files of this folder. One thread writes the data at boot; afterwards
 * it is only read.
 */
#ifndef PCI_PRIVATE_H
#define PCI_PRIVATE_H

#include "kernel/pci.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stdint.h>

/* A window of the host bridge from which BARs are assigned. */
struct pci_window {
    uint64_t bus_address;
    uint64_t address; /* the corresponding address of the processor */
    uint64_t bytes;   /* 0: there is no such window */
    bool prefetchable;
    /* The free space, in bus addresses: [next, end). */
    uint64_t next;
    uint64_t end;
};

struct pci_host {
    int node;
    uint8_t first_bus;
    uint8_t last_bus;
    struct pci_window narrow; /* below 4 GiB, not prefetchable: for every BAR */
    struct pci_window wide;   /* for 64-bit BARs */
    struct pci_window ports;  /* I/O space; here `next` is an offset */
    struct pci_function *first;
    struct pci_function *last;
    unsigned function_count;
};

/* Returns the only host bridge that is used; host.c fills it in. */
struct pci_host *pci_host(void);

/* Access configuration space by bus and device << 3 | function: naturally aligned, offset <
 * PCI_CONFIG_BYTES. Reads of absent functions return all ones. ecam.c implements these functions,
 * in tests a model does. */
uint32_t pci_access_read(uint8_t bus, uint8_t device_function, uint16_t offset, unsigned bytes);
void pci_access_write(uint8_t bus, uint8_t device_function, uint16_t offset, unsigned bytes,
                      uint32_t value);
/* Sets the address of the ECAM region, whose first bus is `first_bus`. */
void pci_access_init(uint64_t address, uint8_t first_bus);

/* Finds all functions, numbers the buses, and sizes the BARs. Returns RESULT_OK or
 * RESULT_NO_MEMORY. */
enum result pci_enumerate(struct pci_host *host);
/* Sizes the BARs of a function whose decoding is off. Keeps the addresses of those that lie inside
 * a window of the host bridge. */
void pci_size_bars(const struct pci_host *host, struct pci_function *function);
/* Assigns an address to every BAR without one, as far as the windows have room, and programs the
 * bridges' windows. */
void pci_assign(struct pci_host *host);

/* Returns the number of BARs of a function with this header type. */
unsigned pci_bar_count(const struct pci_function *function);
/* Writes a BAR's bus address. */
void pci_write_bar(const struct pci_function *function, unsigned index, uint64_t bus_address);

/* Returns the offset of the capability, 0 if the function has none. */
uint16_t pci_find_capability(const struct pci_function *function, uint8_t id);
/* Returns the device/port type in the PCI Express capability, -1 for a conventional function. */
int pci_express_type(const struct pci_function *function);

/* Announces the device ids of functions with MSI-X to the interrupt controller. */
void pci_msix_prepare(const struct pci_host *host);

#endif
