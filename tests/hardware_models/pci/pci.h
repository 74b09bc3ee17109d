/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration space of one PCI function in the test process (PCI Local Bus 3.0, chapter 6;
 * PCI-to-PCI Bridge 1.2; PCI Express Base 4.0, chapter 7): BARs that read back their size, the
 * capability list with MSI-X, Express, power management and VIRTIO's, bits that can't be written,
 * bits that writing 1 clears, and resets.
 *
 * The model's user has the rest: which functions there are, how configuration space is reached, and
 * what is behind the BARs. For a function that is wrong on purpose it writes to the arrays, which
 * hold any value.
 */
#ifndef TESTS_HARDWARE_MODELS_PCI_PCI_H
#define TESTS_HARDWARE_MODELS_PCI_PCI_H

#include <devices/pci_registers.h>
#include <stdbool.h>
#include <stdint.h>

struct pci_model {
    uint8_t config[PCI_CONFIG_BYTES];
    uint8_t writable[PCI_CONFIG_BYTES]; /* bits that software can change */
    uint8_t once[PCI_CONFIG_BYTES];     /* of those: writing 1 clears them */
    uint8_t link;                       /* where the next capability's offset is to be written */
    uint8_t free;                       /* the first byte behind the last capability */
    uint8_t express;                    /* capabilities that the model acts on, 0: none */
    uint8_t power;
    unsigned resets;
    /* Called after a write, before the function acts on it, if set; `before` is its configuration
     * space as it was. */
    void (*watch)(const struct pci_model *function, const uint8_t *before, unsigned offset,
                  unsigned bytes);
};

/* A device without BARs and capabilities; `id` is the vendor's and the device's. */
void pci_model_reset(struct pci_model *function, uint32_t id);

/* Makes it a bridge; `wide`: with a prefetchable window of 64 bits. */
void pci_model_bridge(struct pci_model *function, bool wide);

/* The function's own view of its registers: all bits. */
void pci_model_set(struct pci_model *function, unsigned offset, unsigned bytes, uint64_t value);
uint64_t pci_model_get(const struct pci_model *function, unsigned offset, unsigned bytes);
/* Sets which bits software can change. */
void pci_model_writable(struct pci_model *function, unsigned offset, unsigned bytes, uint64_t mask);

/* A BAR of a size that is a power of two; `flags` are the register's low bits. */
void pci_model_bar(struct pci_model *function, unsigned index, uint64_t bytes, uint32_t flags);
/* Address in a BAR, and the bits of it that software can change, which tell its size; 0: no BAR. */
uint64_t pci_model_bar_address(const struct pci_model *function, unsigned index);
uint64_t pci_model_bar_mask(const struct pci_model *function, unsigned index);

/* Appends a capability to the list. Those of power management and of Express get the bits that
 * software can change; the others get none. */
void pci_model_place_capability(struct pci_model *function, uint8_t offset, uint8_t id,
                                unsigned bytes);
/* The same, behind the last one; returns its offset. */
uint8_t pci_model_capability(struct pci_model *function, uint8_t id, unsigned bytes);
/* Express, of this device or port type. */
void pci_model_express(struct pci_model *function, unsigned type);
/* MSI-X, with the table in a BAR. */
void pci_model_msix(struct pci_model *function, unsigned vectors, unsigned bar, uint32_t offset);

/* Where a structure of a virtio device is (VIRTIO 1.3, 4.1.4). */
struct pci_model_virtio {
    uint8_t length; /* of the capability */
    uint8_t type;
    uint8_t bar;
    uint32_t offset;
    uint32_t bytes;
};

/* Writes that into the capability at `offset`, behind its link. */
void pci_model_virtio(struct pci_model *function, uint8_t offset,
                      const struct pci_model_virtio *structure);

/* Accesses by software, of 1, 2 or 4 bytes. */
uint32_t pci_model_read(const struct pci_model *function, unsigned offset, unsigned bytes);
void pci_model_write(struct pci_model *function, unsigned offset, unsigned bytes, uint32_t value);

/* Resets the function: it decodes no addresses, and its BARs hold none. */
void pci_model_forget(struct pci_model *function);

#endif
