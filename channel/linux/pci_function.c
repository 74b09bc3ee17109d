/* SPDX-License-Identifier: BSD-2-Clause */
#include "pci_function.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

ssize_t pci_function_property(const char *function, const char *property, void *value, size_t size)
{
    char path[PATH_MAX];
    int file;
    ssize_t bytes;

    (void)snprintf(path, sizeof(path), PCI_FUNCTIONS "/%.64s/of_node/%s", function, property);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    bytes = read(file, value, size);
    close(file);
    return bytes;
}

bool pci_function_has_text(const char *function, const char *property, const char *text)
{
    char found[64];
    ssize_t bytes = pci_function_property(function, property, found, sizeof(found));

    return bytes == (ssize_t)strlen(text) + 1 && memcmp(found, text, (size_t)bytes) == 0;
}

int pci_function_open(const char *function, const char *part)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), PCI_FUNCTIONS "/%.64s/%s", function, part);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool pci_function_find_uio(const char *function, char device[PCI_FUNCTION_UIO_BYTES])
{
    char path[PATH_MAX];
    DIR *folder;
    const struct dirent *entry;

    device[0] = '\0';
    (void)snprintf(path, sizeof(path), PCI_FUNCTIONS "/%.64s/uio", function);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, "uio", 3) == 0) {
            (void)snprintf(device, PCI_FUNCTION_UIO_BYTES, "/dev/%.50s", entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return device[0] != '\0';
}
