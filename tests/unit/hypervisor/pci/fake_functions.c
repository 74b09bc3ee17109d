/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_functions.h"

#include "pci/function.h"
#include <arch/device_access.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_function fake_functions[FAKE_FUNCTIONS];
struct description fake_system;
struct partition fake_partition;
uint64_t fake_accesses, fake_delay;
static uint64_t waits; /* calls of pci_delay() */
bool fake_running;

static const uint16_t addresses[FAKE_FUNCTIONS] = {0x08, 0x09, 0x10, 0x108};

void fake_reset(void)
{
    struct description_partition *described = &fake_system.partitions[1];

    memset(fake_functions, 0, sizeof(fake_functions));
    memset(&fake_system, 0, sizeof(fake_system));
    memset(&fake_partition, 0xa5, sizeof(fake_partition));
    fake_accesses = fake_delay = 0;
    fake_running = false;
    fake_system.board.ecam = FAKE_ECAM;
    fake_system.board.ecam_bytes = FAKE_ECAM_BYTES;
    fake_system.board.pci_io = FAKE_IO;
    described->pci_memory = FAKE_MEMORY;
    described->pci_memory_bytes = FAKE_MEMORY_BYTES;
    described->pci_io = FAKE_IO + FAKE_PORTS;
    described->pci_io_bytes = FAKE_PORTS_BYTES;
    described->dma = DESCRIPTION_DMA_SMMU;
    described->function_count = FAKE_FUNCTIONS;
    for (unsigned i = 0; i < FAKE_FUNCTIONS; i++) {
        described->functions[i].address = addresses[i];
        fake_functions[i].address = 0xffff;
    }
    fake_partition.constant.system = &fake_system;
    fake_partition.constant.described = described;
    fake_partition.constant.index = 1;
    fake_partition.constant.shares_cores = false;
}

static uint32_t get(const struct fake_function *function, unsigned at, unsigned bytes)
{
    return pci_model_read(&function->pci, at, bytes);
}

static void check(const struct pci_model *pci, const uint8_t *before, unsigned at, unsigned bytes);

struct fake_function *fake_add(unsigned index)
{
    struct fake_function *function = &fake_functions[index];

    function->address = addresses[index];
    pci_model_reset(&function->pci, 0x10411af4);
    pci_model_set(&function->pci, PCI_INTERRUPT, 4, 0x00000100);
    /* BIST can be started. */
    pci_model_writable(&function->pci, PCI_CACHE_LINE, 4, 0x4000ffff);
    pci_model_writable(&function->pci, PCI_ROM, 4, 0xffff0001);
    pci_model_writable(&function->pci, PCI_INTERRUPT, 1, 0xff);
    function->pci.watch = check;
    return function;
}

static void permit(struct fake_function *function, unsigned at, uint32_t bits)
{
    for (unsigned i = 0; i < 4; i++) {
        function->permitted[at + i] = (uint8_t)(bits >> 8 * i);
    }
}

void fake_capability(struct fake_function *function, uint8_t at, uint8_t id, unsigned bytes)
{
    memset(&function->pci.writable[at + 2], 0xff, bytes - 2);
    pci_model_place_capability(&function->pci, at, id, bytes);
    if (id == PCI_CAPABILITY_POWER) {
        permit(function, at + PCI_POWER_CONTROL, 0x8003);
    } else if (id == PCI_CAPABILITY_EXPRESS) {
        permit(function, at + PCI_EXPRESS_CONTROL, 0x000ff810);
    }
}

void fake_virtio(struct fake_function *function, uint8_t at, uint8_t bar, uint32_t offset)
{
    const struct pci_model_virtio common = {.length = 16, .type = 1, .bar = bar, .offset = offset};

    fake_capability(function, at, PCI_CAPABILITY_VENDOR, 16);
    memset(&function->pci.writable[at], 0, 16);
    pci_model_virtio(&function->pci, at, &common);
    function->status_bar = bar;
    function->status_offset = offset + 20;
    function->status = 0xf;
}

static _Noreturn void broken(const char *rule, const struct fake_function *function, unsigned at)
{
    (void)fprintf(stderr, "rule broken: %s (%02x, %#x)\n", rule, function->address, at);
    abort();
}

static void require(bool holds, const char *rule, const struct fake_function *function, unsigned at)
{
    if (!holds) {
        broken(rule, function, at);
    }
}

/* Where the hardware decodes. */
static void require_inside(const struct fake_function *function)
{
    unsigned command = get(function, PCI_COMMAND, 2);

    for (unsigned i = 0; i < 6; i++) {
        uint32_t low = get(function, PCI_BAR + 4 * i, 4);
        bool io = (low & 1) != 0, wide = (low & 7) == 4 && i < 5;
        uint64_t mask = pci_model_bar_mask(&function->pci, i), bytes = mask & -mask;
        uint64_t address = pci_model_bar_address(&function->pci, i);
        uint64_t first = io ? FAKE_PORTS : FAKE_MEMORY;
        uint64_t last = first + (io ? FAKE_PORTS_BYTES : FAKE_MEMORY_BYTES) - 1;

        if (wide && address > UINT32_MAX && fake_system.partitions[1].pci_wide_bytes != 0) {
            first = FAKE_WIDE;
            last = FAKE_WIDE + FAKE_WIDE_BYTES - 1;
        }
        if ((wide || mask != 0) && (command & (io ? 1u : 2u)) != 0) {
            require(bytes != 0 && address % bytes == 0 && address >= first &&
                        address + (bytes - 1) >= address && address + (bytes - 1) <= last,
                    "what decodes lies inside the window", function, PCI_BAR + 4 * i);
        }
        i += wide;
    }
}

/* Checks a write of the hypervisor: it may change no other bits of the hardware than these.
 * `before` is the configuration space before the write. */
static void check(const struct pci_model *pci, const uint8_t *before, unsigned at, unsigned bytes)
{
    const struct fake_function *function = (const struct fake_function *)pci;

    for (unsigned i = at; i < at + bytes; i++) {
        unsigned changed = (unsigned)pci->config[i] ^ before[i];

        require(i < PCI_BAR || i >= PCI_BAR + 24 || (before[PCI_COMMAND] & 3) == 0,
                "BARs change while nothing decodes", function, i);
        require(i < 0x40 || !fake_running || (changed & ~function->permitted[i]) == 0,
                "only what is harmless changes", function, i);
    }
    require((pci->config[PCI_CACHE_LINE + 3] & 0x40) == 0, "BIST is not started", function, at);
    require((get(function, PCI_COMMAND, 2) & ~0x447u) == 0, "the command is one of ours", function,
            at);
    require((get(function, PCI_COMMAND, 2) & 4) == 0 ||
                fake_partition.constant.described->dma != DESCRIPTION_DMA_NONE,
            "no mastering without DMA", function, at);
    require((get(function, PCI_ROM, 4) & 1) == 0 || (get(function, PCI_COMMAND, 2) & 2) == 0,
            "the ROM does not decode", function, at);
    require_inside(function);
}

/* Of all that BARs decode the hypervisor uses device_status alone. Where that is in a function
 * whose capabilities are random bytes is not checked. */
static struct fake_function *find_status(uintptr_t address)
{
    for (unsigned i = 0; i < FAKE_FUNCTIONS; i++) {
        struct fake_function *function = &fake_functions[i];
        uint64_t bar = get(function, PCI_BAR + 4 * function->status_bar, 4) & ~0xfu;

        if ((get(function, PCI_COMMAND, 2) & 2) != 0 &&
            (function->status_offset == 0 || bar + function->status_offset == address)) {
            require((get(function, PCI_COMMAND, 2) & 4) == 0, "no DMA while it is reset", function,
                    0);
            return function;
        }
    }
    (void)fprintf(stderr, "rule broken: nothing decodes %#lx\n", (unsigned long)address);
    abort();
}

static bool is_decoded(uintptr_t address)
{
    return address - FAKE_MEMORY < FAKE_MEMORY_BYTES;
}

static struct fake_function *find(uintptr_t address, unsigned bytes)
{
    uintptr_t offset = address - FAKE_ECAM;

    fake_accesses++;
    if (address < FAKE_ECAM || offset >= FAKE_ECAM_BYTES || offset % bytes != 0) {
        (void)fprintf(stderr, "rule broken: accesses are in configuration space (%#lx)\n",
                      (unsigned long)address);
        abort();
    }
    for (unsigned i = 0; i < FAKE_FUNCTIONS; i++) {
        if (offset / FAKE_CONFIG_BYTES == addresses[i]) {
            struct fake_function *function = &fake_functions[i];

            if (function->heard > 0) {
                function->heard--;
            } else if (function->deaf > 0) {
                function->deaf--;
                pci_model_forget(&function->pci);
                return NULL;
            }
            return function->address == 0xffff ? NULL : function;
        }
    }
    if (!fake_running && offset < UINT64_C(256) * FAKE_CONFIG_BYTES) {
        return NULL; /* of bus 0 all functions are looked for at boot */
    }
    (void)fprintf(stderr, "rule broken: others' functions are not touched (%#lx)\n",
                  (unsigned long)address);
    abort();
}

static uint32_t fake_read(uintptr_t address, unsigned bytes)
{
    const struct fake_function *function = find(address, bytes);

    return function == NULL ? UINT32_MAX >> (32 - 8 * bytes)
                            : get(function, address % FAKE_CONFIG_BYTES, bytes);
}

static void fake_write(uintptr_t address, unsigned bytes, uint32_t value)
{
    struct fake_function *function = find(address, bytes);
    unsigned command;

    if (function == NULL) {
        return;
    }
    command = get(function, PCI_COMMAND, 2);
    function->last_bytes = bytes;
    pci_model_write(&function->pci, address % FAKE_CONFIG_BYTES, bytes, value);
    function->gaps += (command & ~get(function, PCI_COMMAND, 2) & 3) != 0;
}

uint8_t device_read8(uintptr_t address)
{
    if (is_decoded(address)) {
        struct fake_function *function = find_status(address);

        if (function->address == 0xffff) {
            return UINT8_MAX;
        }
        if (function->status == 0 && function->resetting != 0) {
            function->resetting--;
            return 0xf;
        }
        return function->status;
    }
    return (uint8_t)fake_read(address, 1);
}

uint16_t device_read16(uintptr_t address)
{
    return (uint16_t)fake_read(address, 2);
}

uint32_t device_read32(uintptr_t address)
{
    return fake_read(address, 4);
}

void device_write8(uintptr_t address, uint8_t value)
{
    if (is_decoded(address)) {
        struct fake_function *function = find_status(address);

        function->status = value;
        function->pci.resets += value == 0;
        return;
    }
    fake_write(address, 1, value);
}

void device_write16(uintptr_t address, uint16_t value)
{
    fake_write(address, 2, value);
}

void device_write32(uintptr_t address, uint32_t value)
{
    fake_write(address, 4, value);
}

void pci_delay(uint32_t microseconds)
{
    fake_delay += microseconds;
    waits++;
}

bool fake_reset_functions(void)
{
    struct reset_progress progress = {0};
    uint64_t before = waits;
    enum step_outcome outcome;
    uint32_t microseconds;

    while ((outcome = pci_reset_continue(&fake_partition, &progress, &microseconds)) ==
           STEP_PENDING) {
        fake_delay += microseconds;
    }
    if (waits != before) {
        (void)fprintf(stderr, "rule broken: a step of a reset does not wait\n");
        abort();
    }
    return outcome == STEP_DONE;
}
