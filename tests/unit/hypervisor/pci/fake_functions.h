/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration space of a few functions (hardware_models/pci). It ends the test when something is
 * done to it that must not be: see fake_functions.c.
 */
#ifndef FAKE_FUNCTIONS_H
#define FAKE_FUNCTIONS_H

#include "hardware_models/pci/pci.h"
#include "hypervisor/partition.h"
#include "pci/config_space.h"
#include <stddef.h>

#define FAKE_ECAM         0x40000000u
#define FAKE_ECAM_BYTES   0x200000u /* two buses */
#define FAKE_CONFIG_BYTES PCI_CONFIG_BYTES
#define FAKE_FUNCTIONS    4u
#define FAKE_IO           UINT64_C(0x3eff0000) /* the processor's address of I/O address 0 */
#define FAKE_MEMORY       0x10400000u          /* the partition's windows */
#define FAKE_MEMORY_BYTES 0x100000u
#define FAKE_WIDE         UINT64_C(0x8000000000) /* the wide window; no test has it at first */
#define FAKE_WIDE_GUEST   UINT64_C(0x100000000)
#define FAKE_WIDE_BYTES   UINT64_C(0x400000000)
#define FAKE_PORTS        0x2000u
#define FAKE_PORTS_BYTES  0x1000u

struct fake_function {
    struct pci_model pci;                 /* first: its watch() has the function */
    uint16_t address;                     /* 0xffff: not there */
    uint8_t permitted[FAKE_CONFIG_BYTES]; /* what may be changed; the header needs none */
    unsigned gaps;                        /* how often decoding was switched off */
    unsigned last_bytes;                  /* of the last write */
    unsigned status_bar;                  /* of a virtio device's registers, */
    uint32_t status_offset;               /* where device_status is */
    uint8_t status;                       /* device_status */
    unsigned resetting;                   /* reads of device_status until the reset is over */
    unsigned heard, deaf;                 /* after so many accesses so many are lost in a reset */
};

extern struct fake_function fake_functions[FAKE_FUNCTIONS];
extern struct description fake_system;
extern struct partition fake_partition; /* owns functions 01.0, 01.1, 02.0 and 01:01.0 */
extern bool fake_running; /* guests run: hidden capabilities are not touched any more */
extern uint64_t fake_accesses, fake_delay; /* of the hardware; microseconds waited */

void fake_reset(void);
/* Takes all steps of pci_reset_continue(), and adds the time between them to fake_delay. Returns
 * false if a function did not complete its reset. */
bool fake_reset_functions(void);
/* An endpoint with nothing; `index` in the list above. */
struct fake_function *fake_add(unsigned index);
/* A virtio device's location of its common configuration (VIRTIO 1.3, 4.1.4). */
void fake_virtio(struct fake_function *function, uint8_t at, uint8_t bar, uint32_t offset);
/* At the end of the list, at `at`; what is in it can be written by a driver. */
void fake_capability(struct fake_function *function, uint8_t at, uint8_t id, unsigned bytes);

#endif
