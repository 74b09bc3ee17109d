/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes MMIO registers for a device (VIRTIO 1.3, 4.2): version 2, and the legacy version 1
 * (4.2.4). Registers of shared memory regions are not used. */
#include "virtio/mmio.h"
#include "registers.h"
#include "virtio/endian.h"

/* 4.2.2, table 4.1; registers.c has the others. */
enum { MAGIC_VALUE = 0x000, VERSION = 0x004, DEVICE_ID = 0x008, CONFIG = 0x100 };

#define MAGIC          0x74726976u /* "virt" */
#define VERSION_LEGACY 1u
#define VERSION_MODERN 2u

bool virtio_mmio_probe(struct virtio_mmio *mmio, virtio_register base, size_t bytes,
                       const char **reason)
{
    struct virtio_transport *transport = &mmio->transport;
    uint32_t version;
    bool legacy;

    *mmio = (struct virtio_mmio){0};
    if (bytes < CONFIG) {
        *reason = "the register region is smaller than virtio's registers";
        return false;
    }
    if (virtio_platform_read(base + MAGIC_VALUE, 4) != MAGIC) {
        *reason = "the registers do not begin with virtio's magic value";
        return false;
    }
    version = virtio_platform_read(base + VERSION, 4);
    transport->device_type = virtio_platform_read(base + DEVICE_ID, 4);
    *reason = NULL;
    if (transport->device_type == 0) { /* 4.2.2.2: a placeholder, not an error */
        return false;
    }
    /* A legacy device has the processor's byte order, of which only little-endian is supported. */
    legacy = version == VERSION_LEGACY && !virtio_big_endian();
    if (version != VERSION_MODERN && !legacy) {
        *reason = "a version of virtio's registers that this driver does not support";
        return false;
    }
    virtio_registers_init(transport, legacy ? VIRTIO_REGISTERS_LEGACY_MMIO : VIRTIO_REGISTERS_MMIO,
                          base, CONFIG);
    /* Only virtual environments have this transport (4.2). */
    transport->registers_trap = true;
    transport->config = base + CONFIG;
    transport->config_bytes = (uint32_t)(bytes - CONFIG);
    return true;
}
