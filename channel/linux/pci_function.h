/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of PCI functions that are bound to uio_pci_generic, and their nodes in the devicetree,
 * which everybody may read. `function`: an entry of PCI_FUNCTIONS. */
#ifndef LINUX_PCI_FUNCTION_H
#define LINUX_PCI_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PCI_FUNCTIONS          "/sys/bus/pci/devices"
#define PCI_FUNCTION_UIO_BYTES 64u

/* Reads a property of the function's node in the devicetree. Returns its bytes; -1 if there is
 * none. */
ssize_t pci_function_property(const char *function, const char *property, void *value, size_t size);

/* Returns true if the function's node has this property, with this text. */
bool pci_function_has_text(const char *function, const char *property, const char *text);

/* Opens a file of the function, for reading and writing. Returns -1 with errno. */
int pci_function_open(const char *function, const char *part);

/* Writes the path of the function's UIO device. Returns false if it has none. */
bool pci_function_find_uio(const char *function, char device[PCI_FUNCTION_UIO_BYTES]);

#endif
