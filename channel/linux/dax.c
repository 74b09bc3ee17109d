/* SPDX-License-Identifier: BSD-2-Clause */
#include "dax.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Linux: Documentation/ABI/testing/sysfs-bus-dax. */
#define DEVICES      "/sys/bus/dax/devices"
#define NUMBER_BYTES 32u

static bool read_number(const char *device, const char *attribute, uint64_t *value)
{
    char path[PATH_MAX];
    char text[NUMBER_BYTES];
    ssize_t bytes;
    int file;

    (void)snprintf(path, sizeof(path), DEVICES "/%.64s/%s", device, attribute);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    bytes = read(file, text, sizeof(text) - 1);
    close(file);
    if (bytes <= 0) {
        return false;
    }
    text[bytes] = '\0';
    *value = strtoull(text, NULL, 0);
    return true;
}

int dax_open(uint64_t address, uint64_t bytes, uint64_t *offset)
{
    DIR *folder = opendir(DEVICES);
    const struct dirent *entry;
    char path[PATH_MAX];
    uint64_t start, size;
    int file = -1;

    while (folder != NULL && file < 0 && (entry = readdir(folder)) != NULL) {
        /* An address below the device wraps to a huge offset. */
        if (read_number(entry->d_name, "resource", &start) &&
            read_number(entry->d_name, "size", &size) && address - start < size &&
            bytes <= size - (address - start)) {
            (void)snprintf(path, sizeof(path), "/dev/%.64s", entry->d_name);
            *offset = address - start;
            file = open(path, O_RDWR | O_CLOEXEC);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return file;
}
