/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the files of this folder share. */
#ifndef PCI_FUNCTION_H
#define PCI_FUNCTION_H

#include "hypervisor/partition.h"
#include <devices/pci_registers.h>

#define PCI_FUNCTION_SHIFT 12u /* ECAM has PCI_CONFIG_BYTES for each function */
#define PCI_DWORD          4u
#define PCI_COMMAND_DECODE (PCI_COMMAND_IO | PCI_COMMAND_MEMORY)

/* A PCI function of a partition. */
struct function {
    const struct partition *partition;
    struct virtual_function *view; /* the guest's view of the function */
    uintptr_t registers;           /* address of its configuration space in ECAM */
};

static inline struct function pci_function(struct partition *partition, uint32_t index)
{
    const struct description_partition *described = partition->constant.described;

    return (struct function){
        partition, &partition->functions.views[index],
        (uintptr_t)partition->constant.system->board.ecam +
            ((uintptr_t)described->functions[index].address << PCI_FUNCTION_SHIFT)};
}

/* function.c: read and write a register of configuration space. `bytes`: 1, 2 or 4. `at`: offset, a
 * multiple of `bytes`. */
uint32_t pci_read(const struct function *function, uint32_t at, unsigned bytes);
void pci_write(const struct function *function, uint32_t at, unsigned bytes, uint32_t value);

/* virtio.c: returns true if the function is a virtio device with the common configuration (VIRTIO
 * 1.3, 4.1.4.3). */
bool pci_virtio_can_reset(const struct function *function);
/* Starts the reset of the device by the BAR that contains the common configuration. Decoding is off
 * before. The BARs have addresses in the partition's window until pci_virtio_end_reset(). Returns
 * the address of device_status, or 0 if the BARs do not fit the window. */
uint64_t pci_virtio_start_reset(const struct function *function);
/* Disables decoding, and sets the BARs to 0. */
void pci_virtio_end_reset(const struct function *function);

/* delay.c: waits for at least this time. */
void pci_delay(uint32_t microseconds);

/* bars.c: finds the sizes of the BARs. Decoding must be off. */
void pci_bars_find(const struct function *function);
/* Writes the guest's command and BARs to the hardware. Enables decoding only for BARs that lie in
 * the windows. */
void pci_bars_apply(const struct function *function);
/* Sets the guest's view to that after a reset: the command and all BARs are 0. */
void pci_bars_clear(const struct function *function);
/* Assigns an address in the partition's window to every memory BAR. Returns false if they do not
 * fit. */
bool pci_bars_assign(const struct function *function);
/* Returns the address of memory BAR `index` if its size is at least `bytes`, otherwise 0. */
uint64_t pci_bar_address(const struct function *function, unsigned index, uint64_t bytes);

/* capabilities.c: reads the list of capabilities into the guest's view. */
void pci_capabilities_find(const struct function *function);
/* Returns the offset of the capability after `position` in the list, or of the first one if
 * `position` is -1. Returns 0 if there is none. */
uint8_t pci_capability_next(const struct virtual_function *view, int position);
/* Returns the position in the list of the capability whose first dword is at offset `at`, or -1. */
int pci_capability_at(const struct virtual_function *view, uint32_t at);
/* Returns the offset of the register with Initiate Function Level Reset, or 0 if the function has
 * no such reset. */
uint32_t pci_express_reset(const struct function *function);
/* Returns the offset of the first capability with this ID, or 0 if there is none. */
uint8_t pci_capability_find(const struct virtual_function *view, uint8_t id);

#endif
