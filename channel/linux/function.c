/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels with other partitions: PCI functions with the registers and the memory of ivshmem-v2
 * (Jailhouse, "IVSHMEM Device Specification"), bound to uio_pci_generic. This driver disables INTx
 * in the command register at each interrupt, and the process enables it again. The memory is BAR 2,
 * or in a DAX device, which Linux maps as cached.
 */
#include "endpoint.h"

#include "dax.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUNCTIONS "/sys/bus/pci/devices"

/* Configuration space (PCI 3.0, 6.1). */
#define CONFIG_BYTES            256u
#define CONFIG_IDENTITY         0x00u
#define CONFIG_COMMAND          0x04u
#define CONFIG_CAPABILITIES     0x34u
#define COMMAND_INTX_DISABLE    0x400u
#define CAPABILITY_VENDOR       0x09u
#define IDENTITY_IVSHMEM        0x4106110au
#define VENDOR_CAPABILITY_BYTES 0x20u

/* The vendor-specific capability, and the registers of BAR 0. */
#define VENDOR_ONE_SHOT      0x03u
#define VENDOR_STATE_BYTES   0x04u
#define VENDOR_COMMON_BYTES  0x08u
#define VENDOR_SECTION_BYTES 0x10u
#define VENDOR_ADDRESS       0x18u
#define REGISTERS_BYTES      4096u

enum {
    REGISTER_ID,
    REGISTER_MAX_PEERS,
    REGISTER_INTERRUPT_CONTROL,
    REGISTER_DOORBELL,
    REGISTER_STATE
};

#define INTERRUPT_ENABLE   1u
#define STATE_READY        1u
#define DOORBELL_TARGET(n) ((uint32_t)(n) << 16)

/* What the configuration space tells. */
struct layout {
    uint64_t section_bytes;
    uint64_t address; /* of the memory */
};

/* A file in sysfs or /dev that has the memory of a function. */
struct memory_file {
    int file;
    uint64_t offset; /* of the memory in it */
    uint64_t bytes;  /* of the memory */
};

struct function_endpoint {
    struct linux_endpoint endpoint;
    int config;                   /* configuration space; -1: not open */
    unsigned capability;          /* offset of the vendor-specific capability */
    volatile uint32_t *registers; /* BAR 0; NULL: not mapped */
};

_Static_assert(offsetof(struct function_endpoint, endpoint) == 0,
               "an endpoint of a function is one");

static void ring_bell(void *context)
{
    const struct function_endpoint *function = context;

    function->registers[REGISTER_DOORBELL] = DOORBELL_TARGET(1 - function->endpoint.end);
}

/* Enables the interrupt. */
static void arm_bell(struct linux_endpoint *endpoint)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;
    uint16_t command;

    if (pread(function->config, &command, sizeof(command), CONFIG_COMMAND) == sizeof(command) &&
        (command & COMMAND_INTX_DISABLE) != 0) {
        command &= (uint16_t)~COMMAND_INTX_DISABLE;
        if (pwrite(function->config, &command, sizeof(command), CONFIG_COMMAND) < 0) {
            return;
        }
    }
    function->registers[REGISTER_INTERRUPT_CONTROL] = INTERRUPT_ENABLE;
}

static void discard_interrupts(struct linux_endpoint *endpoint)
{
    uint32_t count; /* the driver's count of interrupts */

    /* Nothing is there to read if another wait has read it. */
    if (read(endpoint->bell, &count, sizeof(count)) < 0) {
        return;
    }
}

static bool begin_use(struct linux_endpoint *endpoint, char *problem)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;
    uint8_t one_shot = 1;

    /* An interrupt disables the next ones: one for each time that somebody sleeps. */
    if (pwrite(function->config, &one_shot, 1, (off_t)function->capability + VENDOR_ONE_SHOT) !=
        1) {
        return endpoint_fail(problem, "%s does not take the one-shot mode: %s", endpoint->name,
                             strerror(errno));
    }
    function->registers[REGISTER_STATE] = STATE_READY;
    return true;
}

static void end_use(struct linux_endpoint *endpoint)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;

    function->registers[REGISTER_INTERRUPT_CONTROL] = 0;
    function->registers[REGISTER_STATE] = 0;
}

static void close_parts(struct linux_endpoint *endpoint)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;

    if (function->registers != NULL) {
        munmap((void *)(uintptr_t)function->registers, REGISTERS_BYTES);
    }
    if (function->config >= 0) {
        close(function->config);
    }
}

/* The table of states tells the death of the peer's partition, so nobody looks for it. */
static const struct endpoint_operations function_operations = {
    .begin = begin_use,
    .end = end_use,
    .arm = arm_bell,
    .quiet = discard_interrupts,
    .close = close_parts,
};

/* Reads a property of the function's node in the devicetree. Returns its bytes; -1 if there is
 * none. */
static ssize_t read_property(const char *function, const char *property, char *value, size_t size)
{
    char path[PATH_MAX];
    int file;
    ssize_t bytes;

    (void)snprintf(path, sizeof(path), FUNCTIONS "/%.64s/of_node/%s", function, property);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    bytes = read(file, value, size);
    close(file);
    return bytes;
}

/* Returns true if the function's node has this property, with this text. */
static bool has_text(const char *function, const char *property, const char *text)
{
    char found[64];
    ssize_t bytes = read_property(function, property, found, sizeof(found));

    return bytes == (ssize_t)strlen(text) + 1 && memcmp(found, text, (size_t)bytes) == 0;
}

/* Returns the kind of the channel, as its node tells it. */
static enum linux_kind read_kind(const char *function)
{
    char none;

    if (read_property(function, "bulkhead,one-way", &none, sizeof(none)) >= 0) {
        return LINUX_ONE_WAY;
    }
    return has_text(function, "bulkhead,kind", "value") ? LINUX_VALUE : LINUX_MESSAGES;
}

/* Finds the function by its address or its channel's name. Writes the address. */
static bool find(const char *name, char *address, size_t bytes, char *problem)
{
    DIR *folder = opendir(FUNCTIONS);
    const struct dirent *entry;
    bool is_found = false;

    if (folder == NULL) {
        return endpoint_fail(problem, "this machine has no PCI functions (" FUNCTIONS ")");
    }
    while (!is_found && (entry = readdir(folder)) != NULL) {
        is_found = strcmp(entry->d_name, name) == 0 || has_text(entry->d_name, "label", name);
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

static int open_part(const char *address, const char *part, int flags)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), FUNCTIONS "/%s/%s", address, part);
    return open(path, flags | O_CLOEXEC);
}

static uint32_t field(const uint8_t *config, unsigned offset, unsigned bytes)
{
    uint32_t value = 0;

    memcpy(&value, &config[offset], bytes);
    return value;
}

/* Reads the sizes from configuration space. */
static bool read_layout(struct function_endpoint *function, const char *address,
                        struct layout *layout, char *problem)
{
    uint8_t config[CONFIG_BYTES];
    uint8_t offset;
    unsigned steps = 0;

    if (pread(function->config, config, sizeof(config), 0) != sizeof(config)) {
        return endpoint_fail(problem, "configuration space of %s can't be read: run as root",
                             address);
    }
    if (field(config, CONFIG_IDENTITY, 4) != IDENTITY_IVSHMEM) {
        return endpoint_fail(problem,
                             "%s is no channel: its vendor and device are %04x:%04x, not "
                             "110a:4106",
                             address, field(config, 0, 2), field(config, 2, 2));
    }
    offset = config[CONFIG_CAPABILITIES] & 0xfc;
    while (offset != 0 && config[offset] != CAPABILITY_VENDOR && steps++ < CONFIG_BYTES / 4) {
        offset = config[offset + 1] & 0xfc;
    }
    if (offset == 0 || config[offset] != CAPABILITY_VENDOR ||
        offset + VENDOR_CAPABILITY_BYTES > CONFIG_BYTES) {
        return endpoint_fail(problem, "%s has no vendor-specific capability", address);
    }
    function->capability = offset;
    memcpy(&layout->section_bytes, &config[offset + VENDOR_SECTION_BYTES], 8);
    memcpy(&layout->address, &config[offset + VENDOR_ADDRESS], 8);
    if (field(config, offset + VENDOR_STATE_BYTES, 4) != REGION_STATE_BYTES ||
        field(config, offset + VENDOR_COMMON_BYTES, 4) != 0 ||
        layout->section_bytes < CHANNEL_CONTROL_BYTES) {
        return endpoint_fail(problem, "%s has memory of another layout", address);
    }
    return endpoint_check(layout->section_bytes - CHANNEL_CONTROL_BYTES, problem);
}

/* Opens BAR 2. Normal memory that is not cached, if Linux offers it: Device memory faults on
 * unaligned accesses. */
static bool open_bar(const char *address, struct memory_file *memory)
{
    struct stat status;

    memory->file = open_part(address, "resource2_wc", O_RDWR);
    if (memory->file < 0) {
        memory->file = open_part(address, "resource2", O_RDWR);
    }
    if (memory->file < 0) {
        return false;
    }
    /* The size of the file is that of the BAR. */
    memory->bytes = fstat(memory->file, &status) == 0 ? (uint64_t)status.st_size : 0;
    return true;
}

/* Opens the memory of a function without BAR 2. `bytes`: of the memory. */
static bool open_dax(const char *address, const struct layout *layout, uint64_t bytes,
                     struct memory_file *memory, char *problem)
{
    if (errno != ENOENT) { /* of open_bar() */
        return endpoint_fail(problem, "the memory of %s can't be opened: %s", address,
                             strerror(errno));
    }
    memory->bytes = bytes;
    memory->file = dax_open(layout->address, bytes, &memory->offset);
    return memory->file >= 0 ||
           endpoint_fail(problem,
                         "%s has no BAR 2, and no /dev/dax* has its memory: modprobe -a of_pmem "
                         "nd_pmem dax_pmem device_dax, in a Linux with CONFIG_ZONE_DEVICE",
                         address);
}

static bool map_memory(struct linux_endpoint *endpoint, const char *address,
                       const struct layout *layout, char *problem)
{
    uint64_t ring_bytes = layout->section_bytes - CHANNEL_CONTROL_BYTES;
    uint64_t bytes = endpoint_region_bytes(endpoint, ring_bytes);
    struct memory_file memory = {.file = -1};
    bool is_mapped;

    if (!open_bar(address, &memory) && !open_dax(address, layout, bytes, &memory, problem)) {
        return false;
    }
    if (memory.bytes < bytes) {
        close(memory.file);
        return endpoint_fail(problem, "the memory of %s is smaller than its sections", address);
    }
    is_mapped = endpoint_map(endpoint, memory.file, memory.offset, ring_bytes, problem);
    close(memory.file);
    return is_mapped;
}

static bool map_registers(struct function_endpoint *function, const char *address, char *problem)
{
    int file = open_part(address, "resource0", O_RDWR);
    void *registers =
        file < 0 ? MAP_FAILED
                 : mmap(NULL, REGISTERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (file >= 0) {
        close(file);
    }
    if (registers == MAP_FAILED) {
        return endpoint_fail(problem, "the registers of %s can't be mapped: %s", address,
                             strerror(errno));
    }
    function->registers = registers;
    function->endpoint.end = function->registers[REGISTER_ID] & 1;
    return true;
}

/* Opens the device of uio_pci_generic. */
static bool open_interrupt(struct linux_endpoint *endpoint, const char *address, char *problem)
{
    char path[PATH_MAX];
    char device[64] = "";
    DIR *folder;
    const struct dirent *entry;

    (void)snprintf(path, sizeof(path), FUNCTIONS "/%s/uio", address);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, "uio", 3) == 0) {
            (void)snprintf(device, sizeof(device), "/dev/%.50s", entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (device[0] == '\0') {
        return endpoint_fail(problem,
                             "%s is not bound to uio_pci_generic: modprobe uio_pci_generic; echo "
                             "110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id",
                             address);
    }
    /* For writing, too, because it has the lock of the end: each network namespace has a file of
     * its own for configuration space, but all have this one. */
    endpoint->bell = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    endpoint->lock_file = endpoint->bell;
    return endpoint->bell >= 0 ||
           endpoint_fail(problem, "%s can't be opened: %s", device, strerror(errno));
}

/* Opens all parts. The caller closes those that are open when it returns false. */
static bool open_parts(struct function_endpoint *function, const char *name, char *problem)
{
    struct linux_endpoint *endpoint = &function->endpoint;
    struct layout layout = {0};
    char address[64];

    if (!find(name, address, sizeof(address), problem)) {
        return false;
    }
    endpoint_set_kind(endpoint, read_kind(address));
    function->config = open_part(address, "config", O_RDWR);
    if (function->config < 0) {
        return endpoint_fail(problem, "configuration space of %s can't be opened: %s", address,
                             strerror(errno));
    }
    return read_layout(function, address, &layout, problem) &&
           open_interrupt(endpoint, address, problem) && endpoint_open_loop(endpoint, problem) &&
           map_registers(function, address, problem) &&
           map_memory(endpoint, address, &layout, problem);
}

struct linux_endpoint *linux_map_function(const char *name, char *problem)
{
    struct linux_endpoint *endpoint =
        endpoint_make(sizeof(struct function_endpoint), &function_operations, name, problem);
    struct function_endpoint *function = (struct function_endpoint *)endpoint;
    const uint32_t *states;

    if (endpoint == NULL) {
        return NULL;
    }
    function->config = -1;
    endpoint->port = (struct channel_port){.context = function, .notify = ring_bell};
    if (!open_parts(function, name, problem)) {
        endpoint_free(endpoint);
        return NULL;
    }
    states = endpoint->region;
    endpoint->memory.peer_state = &states[1 - endpoint->end];
    return endpoint;
}
