/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a PCI device's registers: by its vendor capabilities (VIRTIO 1.3, 4.1.4), or those of the
 * legacy interface. The capability list comes from an untrusted device: the walk is bounded,
 * capabilities that do not fit are skipped, and the first usable structure of each type is taken.
 */
#include "virtio/pci.h"
#include "registers.h"
#include "virtio/endian.h"

/* PCI Local Bus Specification 3.0, 6.1 and 6.7 */
enum { VENDOR_ID = 0x00, DEVICE_ID = 0x02, COMMAND = 0x04, STATUS = 0x06 };
enum { SUBSYSTEM_ID = 0x2e, CAPABILITIES = 0x34 };

#define COMMAND_PORTS             0x0001u
#define COMMAND_MEMORY            0x0002u
#define COMMAND_BUS_MASTER        0x0004u
#define COMMAND_INTERRUPT_DISABLE 0x0400u
#define STATUS_CAPABILITIES       0x0010u
#define CAPABILITY_VENDOR         0x09u
#define CONFIGURATION_BYTES       256u
#define FIRST_CAPABILITY          0x40u
/* Configuration space has room for no more: a longer list is a loop. */
#define CAPABILITIES_MAX ((CONFIGURATION_BYTES - FIRST_CAPABILITY) / 4)
#define BARS             6u

/* Device ids. Transitional devices have the device type in the subsystem id (4.1.2.3), modern ones
 * in the device id (4.1.2.2). */
#define TRANSITIONAL_FIRST 0x1000u
#define MODERN_FIRST       0x1040u
#define MODERN_LAST        0x107fu

/* 4.1.4.10: the legacy registers. With MSI-X the device's configuration comes two registers later.
 */
#define LEGACY_BAR           0u
#define LEGACY_BYTES_MAX     256u /* of I/O space a function may ask for (PCI 3.0, 6.2.5.1) */
#define LEGACY_BYTES_MIN     0x20u
#define LEGACY_DEVICE        0x14u
#define LEGACY_VECTORS_BYTES 4u

/* struct virtio_pci_cap, 4.1.4 */
enum { CAP_NEXT = 1, CAP_LENGTH = 2, CAP_TYPE = 3, CAP_BAR = 4, CAP_OFFSET = 8, CAP_BYTES = 12 };
enum { CAP_NOTIFY_MULTIPLIER = 16 };

/* struct virtio_pci_common_cfg up to queue_device, which every modern device has (4.1.4.3). */
#define COMMON_BYTES 0x38u

#define CAP_MINIMUM_BYTES        16u
#define CAP_NOTIFY_MINIMUM_BYTES 20u

enum { TYPE_COMMON = 1, TYPE_NOTIFY = 2, TYPE_ISR = 3, TYPE_DEVICE = 4 };

static uint32_t config(const struct virtio_pci *pci, unsigned offset, unsigned bytes)
{
    return virtio_platform_pci_read(pci->function, (uint16_t)offset, bytes);
}

/* Returns a structure's first register, or 0 if the structure can't be used: it is in a reserved
 * BAR (4.1.4.1), misaligned for its widest field (4.1.4.3.1, 4.1.4.4.1, 4.1.4.6.1), or outside its
 * BAR. */
static virtio_register map(const struct virtio_pci *pci, unsigned cap, uint32_t bytes,
                           uint32_t alignment)
{
    uint32_t bar = config(pci, cap + CAP_BAR, 1);
    uint32_t offset = config(pci, cap + CAP_OFFSET, 4);

    if (bar >= BARS || offset % alignment != 0) {
        return 0;
    }
    return virtio_platform_pci_map(pci->function, bar, offset, bytes);
}

/* Takes the structure of a capability, unless one of its type was taken before. Types other than
 * these four are reserved or not needed. */
static void take_structure(struct virtio_pci *pci, unsigned cap)
{
    struct virtio_transport *transport = &pci->transport;
    uint32_t type = config(pci, cap + CAP_TYPE, 1);
    uint32_t bytes = config(pci, cap + CAP_BYTES, 4);
    uint32_t ignored;
    const struct {
        virtio_register *where;
        uint32_t *bytes;
        uint8_t bytes_minimum;
        uint8_t alignment;
    } known[] = {
        [TYPE_COMMON - 1] = {&transport->registers, &transport->registers_bytes, COMMON_BYTES, 4},
        [TYPE_NOTIFY - 1] = {&transport->notify, &transport->notify_bytes, 2, 2},
        [TYPE_ISR - 1] = {&transport->cause, &ignored, 1, 1},
        [TYPE_DEVICE - 1] = {&transport->config, &transport->config_bytes, 1, 4},
    };

    if (type < TYPE_COMMON || type > TYPE_DEVICE || *known[type - 1].where != 0 ||
        bytes < known[type - 1].bytes_minimum) {
        return;
    }
    if (type == TYPE_NOTIFY) {
        if (config(pci, cap + CAP_LENGTH, 1) < CAP_NOTIFY_MINIMUM_BYTES ||
            cap + CAP_NOTIFY_MINIMUM_BYTES > CONFIGURATION_BYTES) {
            return;
        }
        transport->notify_multiplier = config(pci, cap + CAP_NOTIFY_MULTIPLIER, 4);
    }
    *known[type - 1].where = map(pci, cap, bytes, known[type - 1].alignment);
    if (*known[type - 1].where != 0) {
        *known[type - 1].bytes = bytes;
    }
}

static void walk_capabilities(struct virtio_pci *pci)
{
    unsigned cap;

    if ((config(pci, STATUS, 2) & STATUS_CAPABILITIES) == 0) {
        return;
    }
    cap = config(pci, CAPABILITIES, 1) & 0xfcu;
    for (unsigned count = 0; count < CAPABILITIES_MAX && cap >= FIRST_CAPABILITY; count++) {
        if (config(pci, cap, 1) == CAPABILITY_VENDOR &&
            cap + CAP_MINIMUM_BYTES <= CONFIGURATION_BYTES &&
            config(pci, cap + CAP_LENGTH, 1) >= CAP_MINIMUM_BYTES) {
            take_structure(pci, cap);
        }
        cap = config(pci, cap + CAP_NEXT, 1) & 0xfcu;
    }
}

/* Returns the device type, or 0 if this is no virtio device. Drivers match any revision (4.1.2.2).
 */
static uint32_t device_type(const struct virtio_pci *pci)
{
    uint32_t device = config(pci, DEVICE_ID, 2);

    if (config(pci, VENDOR_ID, 2) != VIRTIO_PCI_VENDOR || device < TRANSITIONAL_FIRST ||
        device > MODERN_LAST) {
        return 0;
    }
    return device >= MODERN_FIRST ? device - MODERN_FIRST : config(pci, SUBSYSTEM_ID, 2);
}

/* Switches decoding and bus mastering on, and the interrupt line if it is used. */
static void enable(const struct virtio_pci *pci)
{
    uint32_t command = config(pci, COMMAND, 2) | COMMAND_MEMORY | COMMAND_BUS_MASTER |
                       (pci->transport.legacy ? COMMAND_PORTS : 0);

    if (pci->transport.vectors == 0) {
        command &= ~COMMAND_INTERRUPT_DISABLE;
    }
    virtio_platform_pci_write(pci->function, COMMAND, 2, command);
}

/* Fills in the fields that both interfaces use. Returns false if this is no virtio device. */
static bool begin(struct virtio_pci *pci, struct virtio_pci_function *function, uint16_t vectors,
                  const char **reason)
{
    *pci = (struct virtio_pci){
        .function = function, .transport.vectors = vectors, .transport.line_shared = true};
    *reason = NULL;
    pci->transport.device_type = device_type(pci);
    return pci->transport.device_type != 0;
}

bool virtio_pci_probe_legacy(struct virtio_pci *pci, struct virtio_pci_function *function,
                             uint16_t vectors, const char **reason)
{
    uint32_t device = LEGACY_DEVICE + (vectors != 0 ? LEGACY_VECTORS_BYTES : 0);
    uint32_t bytes = LEGACY_BYTES_MAX;
    virtio_register registers;

    if (!begin(pci, function, vectors, reason)) {
        return false;
    }
    *reason = "no usable virtio registers";
    if (config(pci, DEVICE_ID, 2) >= MODERN_FIRST || virtio_big_endian()) {
        return false;
    }
    /* The BAR's size, a power of two, is found by trying. */
    registers = virtio_platform_pci_map(function, LEGACY_BAR, 0, bytes);
    while (registers == 0) {
        bytes /= 2;
        if (bytes < LEGACY_BYTES_MIN) {
            return false;
        }
        registers = virtio_platform_pci_map(function, LEGACY_BAR, 0, bytes);
    }
    *reason = NULL;
    virtio_registers_init(&pci->transport, VIRTIO_REGISTERS_LEGACY_PCI, registers, bytes);
    pci->transport.queue_size_fixed = true;
    pci->transport.config = registers + device;
    pci->transport.config_bytes = bytes - device;
    enable(pci);
    return true;
}

bool virtio_pci_probe(struct virtio_pci *pci, struct virtio_pci_function *function,
                      uint16_t vectors, const char **reason)
{
    struct virtio_transport *transport = &pci->transport;

    if (!begin(pci, function, vectors, reason)) {
        return false;
    }
    walk_capabilities(pci);
    if (transport->registers == 0) {
        return virtio_pci_probe_legacy(pci, function, vectors, reason);
    }
    if (transport->notify == 0) {
        *reason = "no usable notification registers";
        return false;
    }
    if (transport->cause == 0 && vectors == 0) {
        *reason = "no usable interrupt status register, which an interrupt line needs";
        return false;
    }
    virtio_registers_init(transport, VIRTIO_REGISTERS_PCI, transport->registers,
                          transport->registers_bytes);
    enable(pci);
    return true;
}
