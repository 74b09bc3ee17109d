/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

#include "dax.h"
#include "lock.h"
#include "pci_function.h"
#include "problem.h"
#include <arch/shared_device_function.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Configuration space (PCI 3.0, 6.1). */
#define CONFIG_COMMAND       0x04u
#define CONFIG_CAPABILITIES  0x34u
#define COMMAND_BUS_MASTER   0x004u
#define COMMAND_INTX_DISABLE 0x400u

#define REGISTERS_BYTES 4096u
#define PAGE_BYTES      4096u

/* Milliseconds for which the end of an earlier process is waited for. */
#define ENDING_PAUSES_MAX 200u

static int compare(const void *one, const void *other)
{
    uint32_t first = ((const struct device *)one)->properties.number;
    uint32_t second = ((const struct device *)other)->properties.number;

    return first < second ? -1 : first > second;
}

unsigned devices_find(struct device devices[NETWORK_CLIENTS_MAX], char *problem)
{
    DIR *folder = opendir(PCI_FUNCTIONS);
    const struct dirent *entry;
    unsigned count = 0;

    while (folder != NULL && count < NETWORK_CLIENTS_MAX && (entry = readdir(folder)) != NULL) {
        struct device *device = &devices[count];

        if (!properties_are_of_network(entry->d_name)) {
            continue;
        }
        *device = (struct device){.config = -1, .interrupt = -1};
        memccpy(device->function, entry->d_name, '\0', sizeof(device->function) - 1);
        if (!properties_read(device->function, &device->properties, problem)) {
            closedir(folder);
            return 0;
        }
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (count == 0) {
        problem_set(problem, "this partition serves no shared network device with dax = true: see "
                             "the system file");
    }
    qsort(devices, count, sizeof(devices[0]), compare);
    return count;
}

static bool fail_to_open(const struct device *device, const char *what, char *problem)
{
    return problem_set(problem, "%s: %s of %s can't be opened: %s", device->properties.label, what,
                       device->function, strerror(errno));
}

static bool open_interrupt(struct device *device, char *problem)
{
    char path[PCI_FUNCTION_UIO_BYTES];

    if (!pci_function_find_uio(device->function, path)) {
        return problem_set(problem,
                           "%s: %s is not bound to uio_pci_generic: modprobe uio_pci_generic; echo "
                           "1af4 10f0 > /sys/bus/pci/drivers/uio_pci_generic/new_id",
                           device->properties.label, device->function);
    }
    device->interrupt = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return device->interrupt >= 0 || fail_to_open(device, path, problem);
}

/* Opens configuration space, whose lock keeps other processes from the device: the driver of UIO
 * ends bus mastering when any process closes its file. */
static bool open_config(struct device *device, char *problem)
{
    device->config = pci_function_open(device->function, "config");
    if (device->config < 0) {
        return fail_to_open(device, "configuration space", problem);
    }
    return lock_take(device->config, 0) ||
           problem_set(problem, "%s: another process serves it", device->properties.label);
}

static bool read_command(const struct device *device, uint16_t *command)
{
    return pread(device->config, command, sizeof(*command), CONFIG_COMMAND) == sizeof(*command);
}

static bool write_command(const struct device *device, uint16_t command)
{
    return pwrite(device->config, &command, sizeof(command), CONFIG_COMMAND) == sizeof(command);
}

/* Enables bus mastering, which ends with this process. The end of an earlier process may not be
 * complete, and would end it, too: waits for that first. A kernel that does not end bus mastering
 * is not waited for longer. */
static bool begin_bus_mastering(struct device *device, char *problem)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint16_t command = COMMAND_BUS_MASTER;

    for (unsigned i = 0; i < ENDING_PAUSES_MAX; i++) {
        if (!read_command(device, &command) || (command & COMMAND_BUS_MASTER) == 0) {
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    return (read_command(device, &command) &&
            write_command(device, command | COMMAND_BUS_MASTER)) ||
           fail_to_open(device, "configuration space", problem);
}

/* Lets each interrupt disable the next ones. */
static bool begin_one_shot_mode(struct device *device, char *problem)
{
    uint8_t capability, one_shot = 1;

    return (pread(device->config, &capability, 1, CONFIG_CAPABILITIES) == 1 &&
            pwrite(device->config, &one_shot, 1,
                   (off_t)capability + SHARED_DEVICE_FUNCTION_ONE_SHOT) == 1) ||
           fail_to_open(device, "the capability", problem);
}

static bool map_registers(struct device *device, char *problem)
{
    int file = pci_function_open(device->function, "resource0");
    void *registers = MAP_FAILED;

    if (file < 0) {
        return fail_to_open(device, "the registers", problem);
    }
    registers = mmap(NULL, REGISTERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (registers == MAP_FAILED) {
        close(file);
        return fail_to_open(device, "the registers", problem);
    }
    close(file);
    device->registers = registers;
    return true;
}

/* Maps physical memory that is in a DAX device. Returns NULL with a problem. */
static void *map_memory(const struct device *device, uint64_t address, uint64_t bytes, int rights,
                        char *problem)
{
    uint64_t offset = 0;
    int file;
    void *mapped;

    errno = 0;
    file = dax_open(address, bytes, &offset);
    if (file < 0) {
        problem_set(problem,
                    "%s: no /dev/dax* can be opened that has its memory: modprobe -a of_pmem "
                    "nd_pmem dax_pmem device_dax, in a Linux with CONFIG_ZONE_DEVICE, as root",
                    device->properties.label);
        return NULL;
    }
    mapped = mmap(NULL, bytes, rights, MAP_SHARED, file, (off_t)offset);
    if (mapped == MAP_FAILED) {
        fail_to_open(device, "the memory", problem);
        mapped = NULL;
    }
    close(file);
    return mapped;
}

static bool map_reports(struct device *device, char *problem)
{
    const struct properties_memory *reports = &device->properties.reports;

    if (reports->bytes == 0) {
        return true;
    }
    device->reports =
        map_memory(device, reports->here, reports->bytes, PROT_READ | PROT_WRITE, problem);
    return device->reports != NULL;
}

static bool map_windows(struct device *device, char *problem)
{
    struct properties *properties = &device->properties;

    for (unsigned i = 0; i < properties->window_count; i++) {
        const struct properties_window *window = &properties->windows[i];
        void *here =
            map_memory(device, window->here, window->bytes, PROT_READ | PROT_WRITE, problem);

        if (here == NULL) {
            return false;
        }
        device->regions[i] = (struct device_memory_region){window->client, window->bytes, here};
    }
    properties->setup.memory =
        (struct device_memory){.regions = device->regions, .count = properties->window_count};
    return true;
}

bool device_open(struct device *device, char *problem)
{
    struct properties *properties = &device->properties;

    if (!open_config(device, problem) || !open_interrupt(device, problem) ||
        !begin_bus_mastering(device, problem) || !begin_one_shot_mode(device, problem) ||
        !map_registers(device, problem)) {
        return false;
    }
    properties->setup.page = map_memory(device, properties->page, PAGE_BYTES, PROT_READ, problem);
    return properties->setup.page != NULL && map_windows(device, problem) &&
           map_reports(device, problem);
}

void device_write(const struct device *device, uint32_t offset, uint32_t value)
{
    /* The rings' words are visible to other cores before the register is written. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    device->registers[offset / sizeof(uint32_t)] = value;
}

void device_arm(struct device *device)
{
    uint16_t command;

    if (device->is_armed) {
        return;
    }
    /* The driver of UIO has set the bit at the last interrupt. */
    if (read_command(device, &command) && (command & COMMAND_INTX_DISABLE) != 0 &&
        !write_command(device, command & (uint16_t)~COMMAND_INTX_DISABLE)) {
        return;
    }
    device_write(device, SHARED_DEVICE_FUNCTION_INTERRUPT_CONTROL, 1);
    device->is_armed = true;
}

void device_quiet(struct device *device)
{
    uint32_t count; /* the driver's count of interrupts */

    if (read(device->interrupt, &count, sizeof(count)) == sizeof(count)) {
        device->is_armed = false;
        device->doorbells++;
    }
}
