/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include "fake_functions.h"
#include "pci/function.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    const uint8_t *data;
    size_t left;
};

static uint32_t take(struct stream *stream, unsigned bytes)
{
    uint32_t value = 0;

    for (; bytes > 0 && stream->left > 0; bytes--) {
        value = value << 8 | *stream->data++;
        stream->left--;
    }
    return value;
}

static void require(bool holds, const char *rule)
{
    if (!holds) {
        (void)fprintf(stderr, "rule broken: %s\n", rule);
        abort();
    }
}

static void add_bars(struct stream *stream, struct fake_function *function)
{
    static const uint32_t kinds[] = {0x0, 0x1, 0x4, 0xc, 0x2, 0x6};

    for (unsigned i = 0; i < 6; i++) {
        uint32_t choice = take(stream, 1), kind = kinds[choice % 6];

        if (choice % 8 < 6) {
            pci_model_bar(&function->pci, i, UINT64_C(16) << (choice >> 3), kind);
            i += (kind & 7) == 4;
        }
        if (choice == 7) { /* any bits stick */
            function->pci.writable[PCI_BAR + 4 * i + 1] = (uint8_t)take(stream, 1);
        }
    }
    /* A last one of 64 bits touched the register behind. */
    function->pci.writable[PCI_BAR + 24] = function->pci.writable[PCI_BAR + 25] = 0;
    function->pci.writable[PCI_BAR + 26] = function->pci.writable[PCI_BAR + 27] = 0;
}

/* Adds capabilities one after the other. All other registers behind the header are writable, but
 * must not be written. */
static void add_capabilities(struct stream *stream, struct fake_function *function)
{
    static const uint8_t ids[] = {PCI_CAPABILITY_POWER,   PCI_CAPABILITY_MSI,
                                  PCI_CAPABILITY_VENDOR,  PCI_CAPABILITY_EXPRESS,
                                  PCI_CAPABILITY_MSIX,    0x00,
                                  PCI_CAPABILITY_ENHANCED};
    unsigned at = 0x40;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t choice = take(stream, 1);
        uint8_t id = ids[choice % (choice < 0xf0 ? 6 : 7)];

        if ((id == PCI_CAPABILITY_EXPRESS && function->pci.express != 0) ||
            (id == PCI_CAPABILITY_POWER && function->pci.power != 0)) {
            continue;
        }
        if (id == PCI_CAPABILITY_VENDOR && choice >= 0x80 && function->status_offset == 0) {
            fake_virtio(function, (uint8_t)at, (uint8_t)(take(stream, 1) % 8), take(stream, 2));
            at += 60;
            continue;
        }
        fake_capability(function, (uint8_t)at, id, id == PCI_CAPABILITY_EXPRESS ? 60 : 20);
        pci_model_set(&function->pci, at + 4, 4,
                      id == PCI_CAPABILITY_EXPRESS ? take(stream, 1) << 24 : 0);
        at += 60;
    }
    memset(&function->pci.writable[0x100], 0xff, FAKE_CONFIG_BYTES - 0x100);
}

static void add_function(struct stream *stream, unsigned index)
{
    uint32_t kind = take(stream, 1);
    struct fake_function *function;

    if (kind % 8 == 7) {
        return;
    }
    function = fake_add(index);
    function->pci.config[PCI_HEADER_TYPE] = kind % 16 == 6 ? 1 : (uint8_t)(kind & 0x80);
    if ((kind & 0x10) != 0) {
        pci_model_set(&function->pci, PCI_VENDOR_ID, 2, 0x8086);
    }
    add_bars(stream, function);
    add_capabilities(stream, function);
    if ((kind & 0x60) == 0x60) { /* a malicious list in read-only registers */
        for (unsigned i = PCI_CAPABILITIES; i < 0x100; i++) {
            function->pci.config[i] = (uint8_t)take(stream, 1);
            function->pci.writable[i] = 0;
        }
        pci_model_set(&function->pci, PCI_STATUS, 2, PCI_STATUS_CAPABILITIES);
        function->pci.express = function->pci.power = 0;
        function->status_offset = 0;
    }
}

/* Chooses registers with effects more often than others. */
static uint32_t choose_register(struct stream *stream)
{
    uint32_t choice = take(stream, 1);

    if (choice < 0x60) {
        return PCI_COMMAND + choice % 4;
    }
    return choice < 0xc0   ? PCI_BAR + choice % 24
           : choice < 0xf0 ? take(stream, 1)
                           : take(stream, 2) % 4096;
}

static uint32_t choose_value(struct stream *stream)
{
    uint32_t choice = take(stream, 1);

    switch (choice % 8) {
    case 0:
        return UINT32_MAX;
    case 1:
        return choice >> 3;
    case 2:
        return FAKE_MEMORY;
    case 3:
        return FAKE_MEMORY + FAKE_MEMORY_BYTES - (16u << (choice >> 4));
    case 4:
        return FAKE_PORTS + (choice >> 3 << 5);
    case 5:
        return 0x3u << (choice >> 3);
    default:
        return take(stream, 4);
    }
}

static const struct fake_function *owned(uint64_t offset)
{
    for (unsigned i = 0; i < FAKE_FUNCTIONS; i++) {
        if (fake_functions[i].address == offset >> 12 &&
            fake_partition.functions.views[i].present) {
            return &fake_functions[i];
        }
    }
    return NULL;
}

static void access_once(struct stream *stream, uint32_t kind)
{
    static const uint16_t addresses[] = {0x08, 0x09, 0x10, 0x108, 0x08, 0x08, 0x10, 0x11};
    uint8_t bytes = (uint8_t)(1u << (kind & 3));
    uint64_t offset = (uint64_t)addresses[kind >> 2 & 7] << 12 |
                      (choose_register(stream) & ~(bytes - UINT32_C(1)));
    struct access access = {.offset = offset, .bytes = bytes, .write = (kind & 0xc0) != 0};
    uint64_t ones = UINT64_MAX >> (64 - 8 * bytes);
    uint32_t at = (uint32_t)offset % FAKE_CONFIG_BYTES;
    enum access_result result;

    access.value = access.write ? choose_value(stream) & ones : 0x55aa;
    result = pci_access(&fake_partition, &access);
    require(result == ACCESS_DONE || result == ACCESS_REFUSED, "a guest is not stopped for it");
    if (owned(offset) == NULL || bytes == 8) {
        require(result == ACCESS_REFUSED && (access.write || access.value == ones),
                "what is not there reads as ones");
        return;
    }
    require((access.value & ~ones) == 0, "no more is read than was asked for");
    if (access.write && bytes == 4 && at >= PCI_BAR && at < PCI_BAR + 24) {
        uint32_t written = (uint32_t)access.value,
                 index = (uint32_t)(offset >> 12 == 0x08   ? 0
                                    : offset >> 12 == 0x09 ? 1
                                    : offset >> 12 == 0x10 ? 2
                                                           : 3),
                 mask = fake_partition.functions.views[index].bar_mask[(at - PCI_BAR) / 4];

        access.write = false;
        (void)pci_access(&fake_partition, &access);
        require((access.value & mask) == (written & mask), "a BAR reads as it was written");
    }
}

/* Changes that hardware makes by itself. */
static void disturb(struct stream *stream, struct fake_function *function)
{
    uint32_t choice = take(stream, 1);

    if (function->address == 0xffff || (function->pci.config[PCI_COMMAND] & 3) != 0) {
        return;
    }
    if (choice < 0x40) {
        function->heard = choice < 0x20 ? 0 : choice; /* a reset ends, or a reset begins */
        function->deaf = choice < 0x20 ? choice : 40;
    } else if (choice < 0x60) {
        uint8_t *bits = &function->pci.writable[PCI_BAR + choice % 24]; /* another size */

        *bits ^= *bits != 0 ? 0x10 : 0;
    } else if (choice < 0x80) {
        unsigned at = PCI_BAR + choice % 24; /* another address */

        function->pci.config[at] ^= function->pci.writable[at] & 0x10;
    }
}

void traffic_run(const uint8_t *data, size_t bytes)
{
    struct stream stream = {data, bytes};

    fake_reset();
    fake_system.partitions[1].dma = take(&stream, 1) % 3;
    for (unsigned i = 0; i < FAKE_FUNCTIONS; i++) {
        add_function(&stream, i);
    }
    (void)pci_boot(&fake_partition);
    fake_running = true;
    while (stream.left > 0) {
        uint32_t kind = take(&stream, 1);

        if (kind == 0) {
            for (unsigned i = 0; i < FAKE_FUNCTIONS; i++) {
                fake_functions[i].deaf = 0;
            }
            (void)fake_reset_functions();
        } else if (kind < 8) {
            disturb(&stream, &fake_functions[kind % FAKE_FUNCTIONS]);
        } else {
            access_once(&stream, kind);
        }
    }
}
