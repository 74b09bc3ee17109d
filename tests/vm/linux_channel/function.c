/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A user of a channel in Linux, which sees it as a PCI function and drives it by uio_pci_generic
 * (Linux: driver-api/uio-howto.rst). It prints what it finds, sets its state, and answers each
 * interrupt of the other end by ringing the doorbell there. With the argument `wild` its children
 * first access the function in ways that the hypervisor refuses (wild.c).
 */
#include "wild.h"
#include <channel/format.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICES "/sys/bus/pci/devices"
#define DRIVER  "/sys/bus/pci/drivers/uio_pci_generic"
#define IDS     "110a 4106"

#define VENDOR         0x110au
#define PAGE           4096u
#define COMMAND_HIGH   5       /* of configuration space: the byte with INTx Disable */
#define PCI_RESOURCES  3       /* to print */
#define ANSWER_US      100000u /* the other end waits again after that */
#define STATE          3u
#define STRANGE_FORMAT 77u
#define SECTION_OFFSET 0x50 /* of configuration space: the low word of the size of a section */

enum { ID, PEERS, INTERRUPT, DOORBELL, OWN_STATE, REGISTERS };

static char device[300];
static char uio_name[300];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int open_file(const char *folder, const char *name, int flags)
{
    char path[700];
    int file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = open(path, flags);
    if (file < 0) {
        fail(path);
    }
    return file;
}

static uint32_t number_in(const char *folder, const char *name)
{
    char text[32] = "";
    int file = open_file(folder, name, O_RDONLY);

    if (read(file, text, sizeof(text) - 1) < 0) {
        fail(name);
    }
    close(file);
    return (uint32_t)strtoul(text, NULL, 0);
}

/* Calls `handle` with each entry of a folder. */
static void for_each(const char *path, void (*handle)(const char *name))
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    if (folder == NULL) {
        fail(path);
    }
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            handle(entry->d_name);
        }
    }
    closedir(folder);
}

/* Prints a device, and chooses it if it is the last channel so far. */
static void look_at_device(const char *name)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", DEVICES, name);
    printf("function: %s has vendor %x, device %x, class %x, revision %x\n", name,
           number_in(path, "vendor"), number_in(path, "device"), number_in(path, "class"),
           number_in(path, "revision"));
    if (number_in(path, "vendor") == VENDOR && strcmp(path, device) > 0) {
        memcpy(device, path, sizeof(device));
    }
}

static void choose_uio(const char *name)
{
    snprintf(uio_name, sizeof(uio_name), "%s", name);
}

static void print_resources(void)
{
    int file = open_file(device, "resource", O_RDONLY);
    FILE *stream = fdopen(file, "r");
    unsigned long long start, end, flags;

    for (int i = 0; i < PCI_RESOURCES; i++) {
        if (stream == NULL || fscanf(stream, "%llx %llx %llx", &start, &end, &flags) != 3) {
            fail("resource");
        }
        printf("function: resource %d is %llx to %llx, flags %llx\n", i, start, end, flags);
    }
    fclose(stream);
}

/* Prints the name of the channel, which the function's node of the devicetree has. */
static void print_name(void)
{
    char name[64] = "";
    int file = open_file(device, "of_node/label", O_RDONLY);

    if (read(file, name, sizeof(name) - 1) < 0) {
        fail("label");
    }
    close(file);
    printf("function: is channel '%s'\n", name);
}

static void bind_driver(void)
{
    int file = open_file(DRIVER, "new_id", O_WRONLY);

    if (write(file, IDS, strlen(IDS)) < 0) {
        fail("new_id");
    }
    close(file);
}

static void *map(const char *name, size_t bytes)
{
    int file = open_file(device, name, O_RDWR | O_SYNC);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (memory == MAP_FAILED) {
        fail(name);
    }
    return memory;
}

static volatile struct channel_control *section_of(volatile uint32_t *region, uint32_t end,
                                                   uint32_t bytes)
{
    return (volatile struct channel_control *)(region + (PAGE + end * bytes) / sizeof(*region));
}

static void enable_intx(int config)
{
    const uint8_t enabled = 0;

    if (pwrite(config, &enabled, 1, COMMAND_HIGH) != 1) {
        fail("config");
    }
}

int main(int count, char **arguments)
{
    volatile uint32_t *registers, *region;
    volatile struct channel_control *own;
    uint32_t section_bytes, interrupts, last = 0;
    int config, uio;
    char path[400];

    for_each(DEVICES, look_at_device);
    print_name();
    bind_driver();
    snprintf(path, sizeof(path), "%s/uio", device);
    for_each(path, choose_uio);
    print_resources();
    config = open_file(device, "config", O_RDWR);
    uio = open_file("/dev", uio_name, O_RDWR);
    if (pread(config, &section_bytes, sizeof(section_bytes), SECTION_OFFSET) !=
        sizeof(section_bytes)) {
        fail("config");
    }
    registers = map("resource0", PAGE);
    region = map("resource2_wc", PAGE + 2 * (size_t)section_bytes);
    own = section_of(region, registers[ID], section_bytes);
    printf("function: ID %u of %u, sections of %u bytes\n", registers[ID], registers[PEERS],
           section_bytes);
    own->format = STRANGE_FORMAT;
    own->generation = 1;
    printf("function: states before are %u and %u\n", region[0], region[1]);
    registers[OWN_STATE] = STATE;
    printf("function: states are %u and %u, the register %u\n", region[0], region[1],
           registers[OWN_STATE]);
    if (count > 1 && strcmp(arguments[1], "wild") == 0) {
        wild_access(registers, region, section_of(region, 1 - registers[ID], section_bytes));
    }
    registers[INTERRUPT] = 1;
    printf("function: waits\n");
    fflush(stdout);
    enable_intx(config);
    for (;;) {
        uint32_t peer = 1 - registers[ID];

        if (read(uio, &interrupts, sizeof(interrupts)) != sizeof(interrupts)) {
            fail(uio_name);
        }
        usleep(ANSWER_US);
        registers[DOORBELL] = peer << 16;
        /* Two, if the other end's monitor had found INTx enabled just before the first interrupt's
         * handler disabled it. */
        if (last != 0 && interrupts - last > 2) {
            printf("function: WRONG: %u interrupts at once\n", interrupts - last);
        }
        last = interrupts;
        /* A doorbell that rings while INTx is disabled causes no interrupt, so the state is read
         * after INTx is enabled. */
        enable_intx(config);
        printf("function: woke, the state of the other end is %u\n", region[peer]);
        fflush(stdout);
    }
}
