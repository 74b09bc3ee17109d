/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of addresses and interrupts, and sizes of devices, for the checks of a description. */
#ifndef DESCRIPTION_LIMITS_H
#define DESCRIPTION_LIMITS_H

#include "hypervisor/description.h"

#define PHYSICAL_LIMIT             (UINT64_C(1) << 48)
#define GUEST_LIMIT                (UINT64_C(1) << DESCRIPTION_GUEST_BITS)
#define PCI_LIMIT                  (UINT64_C(1) << 32) /* 32-bit BARs reach addresses below this */
#define DEVICE_FRAME_BYTES         UINT64_C(0x10000)   /* size of a frame of GICD, GICR and SMMU */
#define DEVICE_REDISTRIBUTOR_BYTES (2 * DEVICE_FRAME_BYTES)
#define SMMU_BYTES                 (2 * DEVICE_FRAME_BYTES)
#define SPI_FIRST                  32u
#define SPI_LIMIT                  1020u

#endif
