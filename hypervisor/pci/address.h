/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of a PCI function in messages, as lspci writes it: bus:device.function. */
#ifndef PCI_ADDRESS_H
#define PCI_ADDRESS_H

#define PCI_ADDRESS_FORMAT "%x%x:%x%x.%x"
/* The arguments for PCI_ADDRESS_FORMAT. `address`: bus << 8 | device << 3 | function. */
#define PCI_ADDRESS_DIGITS(address) \
    (address) >> 12, (address) >> 8 & 0xf, (address) >> 7 & 1, (address) >> 3 & 0xf, (address) & 7

#endif
