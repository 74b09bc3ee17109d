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
        uint64_t address;  /* address of the processor; 0: absent, I/O space or not assigned */
        uint64_t bytes;    /* 0: absent or I/O space */
        uintptr_t mapping; /* mapped address; 0 before pci_map_bar() */
        uint32_t ports;    /* bytes of I/O space; 0 before pci_map_ports() */
        bool wide;         /* 64-bit BAR: the next BAR is its upper half */
        bool prefetchable;
    } bar[PCI_BAR_COUNT];
    uint16_t msix_capability;    /* offset in configuration space, 0: none */
    uint8_t header_type;         /* 0: device, 1: bridge */
    struct pci_function *bridge; /* the bridge to the function's bus; NULL: the root bus */
};

/* BARs larger than this are not mapped. */
#define PCI_MAP_BYTES_MAX (UINT64_C(64) * 1024 * 1024)

/* Finds the host bridge and enumerates the functions behind it. Afterwards decoding, bus mastering
 * and INTx of every function are disabled. BARs on the root bus that already lie in a window of the
 * host bridge keep their addresses. Limits: the first host bridge, 128 functions, 8 levels of
 * bridges. Called once, at boot. Returns RESULT_OK, RESULT_NOT_FOUND (the devicetree has no host
 * bridge), RESULT_INVALID (malformed) or RESULT_NO_MEMORY. */
enum result pci_init(void);
struct pci_function *pci_first(void);

/* Returns true if there is a function at an address, bus << 8 | device << 3 | function, on a bus of
 * the host bridge. pci_first() may not have it: then pci_rescan() finds it. */
bool pci_is_present(uint16_t address);
/* Enumerates once more, and adds the functions that were not there before to the list. Those that
 * were are not changed. Not for functions behind bridges. Results as those of pci_init(). Not while
 * another thread uses the list. */
enum result pci_rescan(void);

/* Access `bytes`, 1, 2 or 4, of configuration space at a naturally aligned `offset` < 4096. With
 * other arguments a read returns all ones, and a write does nothing. */
uint32_t pci_config_read(const struct pci_function *function, uint16_t offset, unsigned bytes);
void pci_config_write(const struct pci_function *function, uint16_t offset, unsigned bytes,
                      uint32_t value);

/* Maps a memory BAR as device memory. Returns its address, 0 if the function has no such BAR or it
 * cannot be mapped. Idempotent. */
uintptr_t pci_map_bar(struct pci_function *function, unsigned index);
/*
 * Assigns an address to a BAR in I/O space and maps it as device memory; *bytes gets its size.
 * Returns the mapped address, 0 if the BAR is not in I/O space, the host bridge has no room for it
 * in its window, or the function is behind a bridge. Call it before decoding of I/O space is
 * enabled. Idempotent.
 */
uintptr_t pci_map_ports(struct pci_function *function, unsigned index, uint32_t *bytes);
/* Enables memory decoding and bus mastering, and INTx unless MSI-X is enabled. */
void pci_enable(struct pci_function *function);
/*
 * Restores a function that was reset, or switched off and on, from outside: writes its BARs again,
 * and enables it. A function that was not reset does not change. A reset disables MSI-X, so the
 * caller detaches its vectors and attaches them again. Returns RESULT_OK, or RESULT_NOT_FOUND if
 * the function does not respond (yet) or another device has taken its place.
 */
enum result pci_restore(struct pci_function *function);
/* Returns the interrupt of the function's INTx pin, or RESULT_NOT_FOUND if there is no pin, or no
 * map entry for it. */
enum result pci_intx(const struct pci_function *function, uint32_t *number,
                     enum interrupt_trigger *trigger);

/* Returns the number of MSI-X vectors (table size); 0 without the capability, or on a machine
 * without message-signalled interrupts. */
unsigned pci_msix_vectors(const struct pci_function *function);
/* Routes vector `vector` to a handler and unmasks it. The first call enables MSI-X, which disables
 * INTx. Returns RESULT_INVALID (no such vector, or no memory BAR contains the table), RESULT_BUSY
 * (the vector has a handler), or the result of interrupt_message_allocate(). */
enum result pci_msix_attach(struct pci_function *function, unsigned vector,
                            interrupt_handler handler, void *argument);
/* Masks the vector and detaches its handler. Returns RESULT_OK, RESULT_INVALID or RESULT_NOT_FOUND.
 */
enum result pci_msix_detach(struct pci_function *function, unsigned vector,
                            interrupt_handler handler, void *argument);

/* Returns the interrupt number of the vector. Results as pci_msix_attach(). */
enum result pci_msix_number(const struct pci_function *function, unsigned vector, uint32_t *number);

#endif
