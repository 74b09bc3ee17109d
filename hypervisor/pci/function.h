/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of this folder: access to a function, and what each file offers. */
#ifndef PCI_FUNCTION_H
#define PCI_FUNCTION_H

#include "hypervisor/partition.h"
#include <devices/pci_registers.h>

#define PCI_FUNCTION_SHIFT 12u /* PCI_CONFIG_BYTES of ECAM a function */
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

/* function.c: bytes is 1, 2 or 4, `at` a multiple of it. */
uint32_t pci_read(const struct function *function, uint32_t at, unsigned bytes);
void pci_write(const struct function *function, uint32_t at, unsigned bytes, uint32_t value);

/* virtio.c: returns true if the function is a virtio device with the common configuration of VIRTIO
 * 1.3, 4.1.4.3. */
bool pci_virtio_can_reset(const struct function *function);
/* Resets the device through the BAR with that structure, which is placed in the partition's window
 * meanwhile. Returns false if it has no place there, or if the device does not complete the reset
 * within a second. Decoding is off before and after. */
bool pci_virtio_reset(const struct function *function);

/* delay.c: waits at least so long. */
void pci_delay(uint32_t microseconds);

/* bars.c. Decoding is off while BARs are sized. */
void pci_bars_find(const struct function *function);
/* Gives the hardware the guest's BARs and command; decoding only as far as the BARs allow. */
void pci_bars_settle(const struct function *function);
/* The guest's view after a reset: nothing decoded, all BARs 0. */
void pci_bars_forget(const struct function *function);
/* Gives every memory BAR an address in the partition's window. Returns false if they do not fit. */
bool pci_bars_assign(const struct function *function);
/* Returns the address of the memory BAR with that number if it has at least `bytes`, else 0. */
uint64_t pci_bar_address(const struct function *function, unsigned index, uint64_t bytes);

/* capabilities.c */
void pci_capabilities_find(const struct function *function);
/* Returns the offset of the capability after `position` in the list, of the first if it is -1; 0:
 * none. */
uint8_t pci_capability_next(const struct virtual_function *view, int position);
/* Returns the position of the capability whose first dword is at this offset, or -1. */
int pci_capability_at(const struct virtual_function *view, uint32_t at);
/* Returns the offset of the register that starts a function-level reset; 0: the function has none.
 */
uint32_t pci_express_reset(const struct function *function);
/* Returns the offset of the first capability with that id; 0: there is none. */
uint8_t pci_capability_find(const struct virtual_function *view, uint8_t id);

#endif
