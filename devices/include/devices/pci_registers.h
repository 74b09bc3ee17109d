/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration space (PCI Local Bus 3.0, chapter 6; PCI-to-PCI Bridge 1.2, chapter 3; PCI Express
 * Base 4.0, chapter 7).
 */
#ifndef DEVICES_PCI_REGISTERS_H
#define DEVICES_PCI_REGISTERS_H

#define PCI_CONFIG_BYTES 4096u

#define PCI_VENDOR_ID     0x00u
#define PCI_COMMAND       0x04u
#define PCI_STATUS        0x06u
#define PCI_CLASS         0x08u
#define PCI_CACHE_LINE    0x0Cu
#define PCI_HEADER_TYPE   0x0Eu
#define PCI_BAR           0x10u
#define PCI_SUBSYSTEM     0x2Cu
#define PCI_ROM           0x30u
#define PCI_CAPABILITIES  0x34u
#define PCI_INTERRUPT     0x3Cu /* the line's number, for software alone */
#define PCI_INTERRUPT_PIN 0x3Du

#define PCI_COMMAND_IO           (1u << 0)
#define PCI_COMMAND_MEMORY       (1u << 1)
#define PCI_COMMAND_MASTER       (1u << 2)
#define PCI_COMMAND_PARITY       (1u << 6)
#define PCI_COMMAND_INTX_DISABLE (1u << 10)

#define PCI_STATUS_READY        (1u << 0) /* Immediate Readiness (PCI Express Base 4.0, 7.5.1.1.4) */
#define PCI_STATUS_INTERRUPT    (1u << 3)
#define PCI_STATUS_CAPABILITIES (1u << 4)

#define PCI_HEADER_MULTI_FUNCTION 0x80u
#define PCI_HEADER_DEVICE         0u
#define PCI_HEADER_BRIDGE         1u

#define PCI_BAR_IO           (1u << 0)
#define PCI_BAR_TYPE         (3u << 1)
#define PCI_BAR_TYPE_32      (0u << 1)
#define PCI_BAR_TYPE_64      (2u << 1)
#define PCI_BAR_PREFETCHABLE (1u << 3)
#define PCI_BAR_ADDRESS_MASK (~0xFu)

/* Bridges. */
#define PCI_BRIDGE_BUSES          0x18u /* primary, secondary, subordinate, latency timer */
#define PCI_BRIDGE_IO             0x1Cu /* 16 bits: base, limit */
#define PCI_BRIDGE_MEMORY         0x20u /* 32 bits: base, limit */
#define PCI_BRIDGE_PREFETCH       0x24u
#define PCI_BRIDGE_PREFETCH_BASE  0x28u /* upper halves */
#define PCI_BRIDGE_PREFETCH_LIMIT 0x2Cu

#define PCI_CAPABILITY_NULL     0x00u /* without registers */
#define PCI_CAPABILITY_POWER    0x01u
#define PCI_CAPABILITY_MSI      0x05u
#define PCI_CAPABILITY_VENDOR   0x09u
#define PCI_CAPABILITY_EXPRESS  0x10u
#define PCI_CAPABILITY_MSIX     0x11u
#define PCI_CAPABILITY_ENHANCED 0x14u /* enhanced allocation */

/* Enhanced allocation (PCI Express Base 4.0, 7.8.5): the capability's first dword, and the first
 * dword of an entry. Of 64-bit entries base and maximum offset follow, the lower halves first. */
#define PCI_ENHANCED_COUNT_SHIFT  16u
#define PCI_ENHANCED_ENTRIES      4u
#define PCI_ENHANCED_DWORDS(n)    (n) /* that follow the first */
#define PCI_ENHANCED_BAR(n)       ((n) << 4)
#define PCI_ENHANCED_PREFETCHABLE (1u << 8)     /* primary properties */
#define PCI_ENHANCED_ALONE        (0xFFu << 16) /* no secondary properties */
#define PCI_ENHANCED_ENABLE       (1u << 31)
#define PCI_ENHANCED_64           (1u << 1) /* of the lower halves */

#define PCI_POWER_CONTROL  4u
#define PCI_POWER_STATE    3u /* 0 to 3: D0 to D3hot */
#define PCI_POWER_D3HOT    3u
#define PCI_POWER_NO_RESET (1u << 3) /* from D3hot to D0 nothing is lost */

#define PCI_EXPRESS_FLAGS           2u
#define PCI_EXPRESS_ABILITIES       4u
#define PCI_EXPRESS_CONTROL         8u
#define PCI_EXPRESS_RESET           (1u << 15) /* of control: function-level reset */
#define PCI_EXPRESS_CAN_RESET       (1u << 28) /* of abilities */
#define PCI_EXPRESS_TYPE(flags)     ((flags) >> 4 & 0xFu)
#define PCI_EXPRESS_ROOT_PORT       4u
#define PCI_EXPRESS_DOWNSTREAM_PORT 6u
#define PCI_EXPRESS_TO_PCI_BRIDGE   7u

#define PCI_MSI_CONTROL         2u
#define PCI_MSIX_CONTROL        2u
#define PCI_MSIX_TABLE          4u
#define PCI_MSIX_CONTROL_SIZE   0x7FFu
#define PCI_MSIX_CONTROL_MASK   (1u << 14)
#define PCI_MSIX_CONTROL_ENABLE (1u << 15)
#define PCI_MSIX_BAR            0x7u

#define PCI_MSIX_ENTRY_BYTES   16u
#define PCI_MSIX_ENTRY_ADDRESS 0u
#define PCI_MSIX_ENTRY_DATA    8u
#define PCI_MSIX_ENTRY_CONTROL 12u
#define PCI_MSIX_ENTRY_MASKED  (1u << 0)

#endif
