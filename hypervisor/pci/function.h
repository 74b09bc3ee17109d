/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the files of this folder. */
#ifndef PCI_FUNCTION_H
#define PCI_FUNCTION_H

#include "hypervisor/partition.h"
#include <devices/pci_registers.h>

#define PCI_FUNCTION_SHIFT 12u /* each function has PCI_CONFIG_BYTES of ECAM */
#define PCI_DWORD          4u
#define PCI_COMMAND_DECODE (PCI_COMMAND_IO | PCI_COMMAND_MEMORY)

struct function {
    const struct partition *partition;
    struct virtual_function *view;
    uintptr_t registers;
};

static inline struct function pci_function(struct partition *partition, uint32_t index)
{
    const struct description_partition *described = partition->described;

    return (struct function){
        partition, &partition->functions[index],
        (uintptr_t)partition->system->board.ecam +
            ((uintptr_t)described->functions[index].address << PCI_FUNCTION_SHIFT)};
}

/* function.c: access to a register of configuration space. `bytes`: 1, 2 or 4. `at`: a multiple of
 * it. */
uint32_t pci_read(const struct function *function, uint32_t at, unsigned bytes);
void pci_write(const struct function *function, uint32_t at, unsigned bytes, uint32_t value);

/* virtio.c: returns true if the function is a virtio device with the common configuration of VIRTIO
 * 1.3, 4.1.4.3. */
bool pci_virtio_can_reset(const struct function *function);
/* Starts the reset of the device through the BAR with that structure, which has an address in the
 * partition's window until pci_virtio_end_reset(). Returns the address of device_status, or 0 if
 * the BAR does not fit the window. Decoding is off before. */
uint64_t pci_virtio_start_reset(const struct function *function);
/* Disables decoding, and clears the BARs. */
void pci_virtio_end_reset(const struct function *function);

/* delay.c: waits at least this long. */
void pci_delay(uint32_t microseconds);

/* bars.c: finds the sizes of the BARs. Decoding is off meanwhile. */
void pci_bars_find(const struct function *function);
/* Writes the guest's command and BARs to the hardware. Enables decoding only for BARs that lie in
 * the windows. */
void pci_bars_apply(const struct function *function);
/* Sets the guest's view as after a reset: nothing is decoded, all BARs are 0. */
void pci_bars_clear(const struct function *function);
/* Gives every memory BAR an address in the partition's window. Returns false if they do not fit. */
bool pci_bars_assign(const struct function *function);
/* Returns the address of the memory BAR with that number if it has at least `bytes`, else 0. */
uint64_t pci_bar_address(const struct function *function, unsigned index, uint64_t bytes);

/* capabilities.c: reads the list of capabilities into the guest's view. */
void pci_capabilities_find(const struct function *function);
/* Returns the offset of the capability after `position` in the list, or of the first one if
 * `position` is -1. Returns 0 if there is none. */
uint8_t pci_capability_next(const struct virtual_function *view, int position);
/* Returns the position of the capability whose first dword is at this offset, or -1. */
int pci_capability_at(const struct virtual_function *view, uint32_t at);
/* Returns the offset of the register that starts a function-level reset, or 0 if the function has
 * no such reset. */
uint32_t pci_express_reset(const struct function *function);
/* Returns the offset of the first capability with that id, or 0 if there is none. */
uint8_t pci_capability_find(const struct virtual_function *view, uint8_t id);

#endif
