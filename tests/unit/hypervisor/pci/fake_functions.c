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
    fake_partition.system = &fake_system;
    fake_partition.described = described;
    fake_partition.index = 1;
}

void fake_set(struct fake_function *function, unsigned at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++) {
        function->config[at + i] = (uint8_t)(value >> 8 * i);
    }
}

static void fill(uint8_t *bits, unsigned at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++) {
        bits[at + i] = (uint8_t)(value >> 8 * i);
    }
}

uint32_t fake_get(const struct fake_function *function, unsigned at, unsigned bytes)
{
    uint32_t value = 0;

    for (unsigned i = bytes; i > 0; i--) {
        value = value << 8 | function->config[at + i - 1];
    }
    return value;
}

struct fake_function *fake_add(unsigned index)
{
    struct fake_function *function = &fake_functions[index];

    function->address = addresses[index];
    fake_set(function, PCI_VENDOR_ID, 4, 0x10411af4);
    fake_set(function, PCI_INTERRUPT, 4, 0x00000100);
    fill(function->writable, PCI_COMMAND, 2, 0x7ff);
    fill(function->once, PCI_STATUS, 2, 0xf900);
    fill(function->writable, PCI_CACHE_LINE, 4, 0x4000ffff); /* BIST can be started */
    fill(function->writable, PCI_ROM, 4, 0xffff0001);
    fill(function->writable, PCI_INTERRUPT, 1, 0xff);
    function->last = PCI_CAPABILITIES;
    return function;
}

void fake_bar(struct fake_function *function, unsigned index, uint64_t bytes, uint32_t flags)
{
    unsigned at = PCI_BAR + 4 * index;

    fill(function->writable, at, (flags & 0x7) == 0x4 ? 8 : 4,
         -bytes & ~(uint64_t)((flags & 1) != 0 ? 0x3 : 0xf));
    fake_set(function, at, 4, flags);
}

void fake_capability(struct fake_function *function, uint8_t at, uint8_t id, unsigned bytes)
{
    fake_set(function, PCI_STATUS, 2, fake_get(function, PCI_STATUS, 2) | PCI_STATUS_CAPABILITIES);
    function->config[function->last] = at;
    function->last = (uint8_t)(at + 1);
    function->config[at] = id;
    memset(&function->writable[at + 2], 0xff, bytes - 2);
    if (id == PCI_CAPABILITY_POWER) {
        function->power = at;
        fill(function->writable, at + 4u, 4, 0x0103);
        fill(function->once, at + 4u, 4, 0x8000);
        fill(function->permitted, at + 4u, 4, 0x8003);
    } else if (id == PCI_CAPABILITY_EXPRESS) {
        function->express = at;
        fill(function->writable, at + 4u, 4, 0);
        fill(function->writable, at + 8u, 4, 0xffff);
        fill(function->once, at + 8u, 4, 0x000f0000);
        fill(function->permitted, at + 8u, 4, 0x000ff810);
    }
}

void fake_virtio(struct fake_function *function, uint8_t at, uint8_t bar, uint32_t offset)
{
    fake_capability(function, at, PCI_CAPABILITY_VENDOR, 16);
    memset(&function->writable[at], 0, 16);
    fake_set(function, at + 3u, 1, 1);
    fake_set(function, at + 4u, 1, bar);
    fake_set(function, at + 8u, 4, offset);
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
    unsigned command = fake_get(function, PCI_COMMAND, 2);

    for (unsigned i = 0; i < 6; i++) {
        unsigned at = PCI_BAR + 4 * i;
        uint64_t low = fake_get(function, at, 4), mask = 0;
        bool io = (low & 1) != 0, wide = (low & 7) == 4 && i < 5;
        uint64_t address = low & (io ? ~UINT64_C(3) : ~UINT64_C(0xf)), bytes;

        for (unsigned j = 8; j > 0; j--) {
            mask = mask << 8 | (j > 4 && !wide ? 0xff : function->writable[at + j - 1]);
        }
        i += wide;
        mask |= io && (uint32_t)mask != 0 && (uint32_t)mask >> 16 == 0 ? 0xffff0000 : 0;
        address |= wide ? (uint64_t)fake_get(function, at + 4, 4) << 32 : 0;
        bytes = mask & -mask;
        if ((!wide && (uint32_t)mask == 0) || (command & (io ? 1u : 2u)) == 0) {
            continue;
        }
        require(bytes != 0 && address % bytes == 0 && address >= (io ? FAKE_PORTS : FAKE_MEMORY) &&
                    address + (bytes - 1) >= address &&
                    address + (bytes - 1) <= (io ? FAKE_PORTS + FAKE_PORTS_BYTES - 1
                                                 : FAKE_MEMORY + FAKE_MEMORY_BYTES - 1),
                "what decodes lies inside the window", function, at);
    }
}

/* What the hypervisor may do to hardware at all; `before` as it was. */
static void check(const struct fake_function *function, const uint8_t *before, unsigned at,
                  unsigned bytes)
{
    for (unsigned i = at; i < at + bytes; i++) {
        unsigned changed = (unsigned)function->config[i] ^ before[i];

        require(i < PCI_BAR || i >= PCI_BAR + 24 || (before[PCI_COMMAND] & 3) == 0,
                "BARs change while nothing decodes", function, i);
        require(i < 0x40 || !fake_running || (changed & ~function->permitted[i]) == 0,
                "only what is harmless changes", function, i);
    }
    require((function->config[PCI_CACHE_LINE + 3] & 0x40) == 0, "BIST is not started", function,
            at);
    require((fake_get(function, PCI_COMMAND, 2) & ~0x447u) == 0, "the command is one of ours",
            function, at);
    require((fake_get(function, PCI_COMMAND, 2) & 4) == 0 ||
                fake_partition.described->dma != DESCRIPTION_DMA_NONE,
            "no mastering without DMA", function, at);
    require((fake_get(function, PCI_ROM, 4) & 1) == 0 ||
                (fake_get(function, PCI_COMMAND, 2) & 2) == 0,
            "the ROM does not decode", function, at);
    require_inside(function);
}

static void forget(struct fake_function *function)
{
    function->resets++;
    fake_set(function, PCI_COMMAND, 2, 0);
    for (unsigned i = PCI_BAR; i < PCI_BAR + 24; i++) {
        function->config[i] &= (uint8_t)~function->writable[i];
    }
}

static void carry_out(struct fake_function *function, const uint8_t *before)
{
    unsigned express = function->express + 8u, power = function->power + 4u;

    if (function->express != 0 && (fake_get(function, express, 2) & 0x8000) != 0) {
        fake_set(function, express, 2, 0);
        if ((function->config[express - 1] & 0x10) != 0) {
            forget(function);
        }
    }
    if (function->power != 0 && (before[power] & 3) == 3 && (function->config[power] & 3) == 0 &&
        (function->config[power] & 8) == 0) {
        forget(function);
    }
    function->gaps += (before[PCI_COMMAND] & ~function->config[PCI_COMMAND] & 3) != 0;
}

/* Of all that BARs decode the hypervisor uses device_status alone. Where that is in a function
 * whose capabilities are random bytes is not checked. */
static struct fake_function *find_status(uintptr_t address)
{
    for (unsigned i = 0; i < FAKE_FUNCTIONS; i++) {
        struct fake_function *function = &fake_functions[i];
        uint64_t bar = fake_get(function, PCI_BAR + 4 * function->status_bar, 4) & ~0xfu;

        if ((fake_get(function, PCI_COMMAND, 2) & 2) != 0 &&
            (function->status_offset == 0 || bar + function->status_offset == address)) {
            require((fake_get(function, PCI_COMMAND, 2) & 4) == 0, "no DMA while it is reset",
                    function, 0);
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
                forget(function);
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
                            : fake_get(function, address % FAKE_CONFIG_BYTES, bytes);
}

static void fake_write(uintptr_t address, unsigned bytes, uint32_t value)
{
    struct fake_function *function = find(address, bytes);
    uint8_t before[FAKE_CONFIG_BYTES];
    unsigned at = address % FAKE_CONFIG_BYTES;

    if (function == NULL) {
        return;
    }
    memcpy(before, function->config, sizeof(before));
    function->last_bytes = bytes;
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i), *config = &function->config[at + i];
        uint8_t mask = function->writable[at + i] & (uint8_t)~function->once[at + i];

        *config = (uint8_t)((*config & ~mask) | (byte & mask));
        *config &= (uint8_t) ~(byte & function->once[at + i]);
    }
    check(function, before, at, bytes);
    carry_out(function, before);
}

uint8_t device_read8(uintptr_t address)
{
    if (is_decoded(address)) {
        struct fake_function *function = find_status(address);

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
        function->resets += value == 0;
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
}
