/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the files of a channel's PCI function. Configuration space tells the size of its sections,
 * but Linux shows only the first 64 bytes of it to processes without CAP_SYS_ADMIN. They read the
 * size in the function's node of the devicetree, which everybody may read.
 */
#include "endpoint.h"

#include "dax.h"
#include "pci_function.h"
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Configuration space (PCI 3.0, 6.1). */
#define CONFIG_BYTES            256u
#define CONFIG_HEADER_BYTES     64u
#define CONFIG_IDENTITY         0x00u
#define CONFIG_CAPABILITIES     0x34u
#define CAPABILITY_VENDOR       0x09u
#define IDENTITY_IVSHMEM        0x4106110au
#define VENDOR_CAPABILITY_BYTES 0x20u

/* The vendor-specific capability. */
#define VENDOR_STATE_BYTES   0x04u
#define VENDOR_COMMON_BYTES  0x08u
#define VENDOR_SECTION_BYTES 0x10u
#define VENDOR_ADDRESS       0x18u

/* The sizes that configuration space or the devicetree has. */
struct layout {
    uint64_t common_bytes; /* of the common section; 0: there is none */
    uint64_t section_bytes;
    uint64_t address; /* of the memory */
};

/* Returns the kind of the channel, as its node tells it. */
static enum linux_kind read_kind(const char *function)
{
    char none;

    if (pci_function_property(function, "bulkhead,one-way", &none, sizeof(none)) >= 0) {
        return LINUX_ONE_WAY;
    }
    return pci_function_has_text(function, "bulkhead,kind", "value") ? LINUX_VALUE : LINUX_MESSAGES;
}

/* Returns true if the function is that of the channel with this name. A shared device may have the
 * name of a channel. */
static bool is_of_channel(const char *function, const char *name)
{
    uint32_t number;

    return pci_function_has_text(function, "label", name) &&
           pci_function_property(function, "bulkhead,channel", &number, sizeof(number)) >= 0;
}

/* Finds the function by its address or its channel's name. Writes the address. */
static bool find(const char *name, char *address, size_t bytes, char *problem)
{
    DIR *folder = opendir(PCI_FUNCTIONS);
    const struct dirent *entry;
    bool is_found = false;

    if (folder == NULL) {
        return endpoint_fail(problem, "this machine has no PCI functions (" PCI_FUNCTIONS ")");
    }
    while (!is_found && (entry = readdir(folder)) != NULL) {
        is_found = strcmp(entry->d_name, name) == 0 || is_of_channel(entry->d_name, name);
        if (is_found) {
            (void)snprintf(address, bytes, "%.*s", (int)bytes - 1, entry->d_name);
        }
    }
    closedir(folder);
    return is_found || endpoint_fail(problem,
                                     "there is no PCI function or channel '%s': see the names in "
                                     "the system file, and lspci",
                                     name);
}

/* Writes a problem with a file that can't be opened, by errno. */
static bool fail_to_open(const char *what, const char *address, char *problem)
{
    return endpoint_fail(problem, "%s of %s can't be opened: %s%s", what, address, strerror(errno),
                         errno == EACCES || errno == EPERM
                             ? ": it is for root, and for a group (see 60-bulkhead-channel.rules)"
                             : "");
}

static uint32_t field(const uint8_t *config, unsigned offset, unsigned bytes)
{
    uint32_t value = 0;

    memcpy(&value, &config[offset], bytes);
    return value;
}

/* Reads the sizes in the vendor-specific capability, which is the first one of our functions. */
static bool read_capability(const uint8_t config[CONFIG_BYTES], const char *address,
                            struct layout *layout, char *problem)
{
    unsigned offset = config[CONFIG_CAPABILITIES];

    if (offset > CONFIG_BYTES - VENDOR_CAPABILITY_BYTES || config[offset] != CAPABILITY_VENDOR) {
        return endpoint_fail(problem, "%s does not begin with a vendor-specific capability",
                             address);
    }
    memcpy(&layout->common_bytes, &config[offset + VENDOR_COMMON_BYTES], 8);
    memcpy(&layout->section_bytes, &config[offset + VENDOR_SECTION_BYTES], 8);
    memcpy(&layout->address, &config[offset + VENDOR_ADDRESS], 8);
    return field(config, offset + VENDOR_STATE_BYTES, 4) == REGION_STATE_BYTES ||
           endpoint_fail(problem, "%s has memory of another layout", address);
}

/* Reads a number of two cells in the function's node. */
static bool read_cells(const char *address, const char *property, uint64_t *value)
{
    uint64_t cells;

    if (pci_function_property(address, property, (char *)&cells, sizeof(cells)) != sizeof(cells)) {
        return false;
    }
    *value = be64toh(cells);
    return true;
}

/* Reads the sizes where this process may read them. */
static bool read_layout(int config, const char *address, struct layout *layout, char *problem)
{
    uint8_t bytes[CONFIG_BYTES];
    ssize_t count = pread(config, bytes, sizeof(bytes), 0);

    if (count < (ssize_t)CONFIG_HEADER_BYTES) {
        return endpoint_fail(problem, "configuration space of %s can't be read", address);
    }
    if (field(bytes, CONFIG_IDENTITY, 4) != IDENTITY_IVSHMEM) {
        return endpoint_fail(problem,
                             "%s is no channel: its vendor and device are %04x:%04x, not "
                             "110a:4106",
                             address, field(bytes, 0, 2), field(bytes, 2, 2));
    }
    if (count == CONFIG_BYTES) {
        return read_capability(bytes, address, layout, problem);
    }
    (void)read_cells(address, "bulkhead,common-bytes", &layout->common_bytes); /* or 0 */
    return (read_cells(address, "bulkhead,section-bytes", &layout->section_bytes) &&
            read_cells(address, "bulkhead,address", &layout->address)) ||
           endpoint_fail(problem,
                         "%s has no node in the devicetree that tells its size: run as root",
                         address);
}

/* Opens BAR 2. Normal memory that is not cached, if Linux offers it: Device memory faults on
 * unaligned accesses. Returns -1 with errno. */
static int open_bar(const char *address)
{
    int file = pci_function_open(address, "resource2_wc");

    return file >= 0 || errno != ENOENT ? file : pci_function_open(address, "resource2");
}

/* Opens the memory. `bytes`: all that the channel needs of it. */
static bool open_memory(const char *address, const struct layout *layout, uint64_t bytes,
                        struct linux_function *function, char *problem)
{
    struct stat status;

    function->memory = open_bar(address);
    if (function->memory >= 0) {
        /* The size of the file is that of the BAR. */
        return (fstat(function->memory, &status) == 0 && (uint64_t)status.st_size >= bytes) ||
               endpoint_fail(problem, "the memory of %s is smaller than its sections", address);
    }
    if (errno != ENOENT) {
        return fail_to_open("the memory", address, problem);
    }
    errno = 0;
    function->memory = dax_open(layout->address, bytes, &function->memory_offset);
    if (function->memory < 0 && (errno == EACCES || errno == EPERM)) {
        return fail_to_open("the DAX device", address, problem);
    }
    return function->memory >= 0 ||
           endpoint_fail(problem,
                         "%s has no BAR 2, and no /dev/dax* has its memory: modprobe -a of_pmem "
                         "nd_pmem dax_pmem device_dax, in a Linux with CONFIG_ZONE_DEVICE",
                         address);
}

/* Opens the device of uio_pci_generic. */
static int open_interrupt(const char *address, char *problem)
{
    char device[PCI_FUNCTION_UIO_BYTES];
    int file;

    if (!pci_function_find_uio(address, device)) {
        endpoint_fail(problem,
                      "%s is not bound to uio_pci_generic: modprobe uio_pci_generic; echo "
                      "110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id",
                      address);
        return -1;
    }
    /* For writing, too, because it has the lock of the end: each network namespace has a file of
     * its own for configuration space, but all have this one. */
    file = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        fail_to_open(device, address, problem);
    }
    return file;
}

/* Opens all files. The caller closes those that are open when it returns false. */
static bool open_files(const char *name, struct linux_function *function, char *problem)
{
    struct linux_endpoint shape = {0}; /* only its kind and size */
    struct layout layout = {0};
    char address[64];

    if (!find(name, address, sizeof(address), problem)) {
        return false;
    }
    function->kind = read_kind(address);
    endpoint_set_kind(&shape, function->kind);
    function->config = pci_function_open(address, "config");
    if (function->config < 0) {
        return fail_to_open("configuration space", address, problem);
    }
    if (!read_layout(function->config, address, &layout, problem)) {
        return false;
    }
    function->ring_bytes = layout.section_bytes - CHANNEL_CONTROL_BYTES; /* or huge: checked */
    function->common_bytes = shape.common_bytes = layout.common_bytes;
    if (!endpoint_check(function->ring_bytes, problem)) {
        return false;
    }
    if (layout.common_bytes > CHANNEL_RING_MAX) {
        return endpoint_fail(problem, "%s has memory of another layout", address);
    }
    function->interrupt = open_interrupt(address, problem);
    if (function->interrupt < 0) {
        return false;
    }
    function->registers = pci_function_open(address, "resource0");
    if (function->registers < 0) {
        return fail_to_open("the registers", address, problem);
    }
    return open_memory(address, &layout, endpoint_region_bytes(&shape, function->ring_bytes),
                       function, problem);
}

static void close_if_open(int file)
{
    if (file >= 0) {
        close(file);
    }
}

void linux_close_function(const struct linux_function *function)
{
    close_if_open(function->config);
    close_if_open(function->interrupt);
    close_if_open(function->registers);
    close_if_open(function->memory);
}

bool linux_open_function(const char *name, struct linux_function *function, char *problem)
{
    *function =
        (struct linux_function){.config = -1, .interrupt = -1, .registers = -1, .memory = -1};
    if (!open_files(name, function, problem)) {
        linux_close_function(function);
        return false;
    }
    return true;
}
