/* SPDX-License-Identifier: BSD-2-Clause */
#include "disk_model.h"

#include <string.h>

#define TYPE_IN    0u
#define TYPE_OUT   1u
#define TYPE_FLUSH 4u
#define F_SIZE_MAX (UINT64_C(1) << 1)
#define F_SEG_MAX  (UINT64_C(1) << 2)
#define F_RO       (UINT64_C(1) << 5)
#define F_BLK_SIZE (UINT64_C(1) << 6)
#define F_FLUSH    (UINT64_C(1) << 9)

struct disk_model disk;

void disk_configure(unsigned offset, uint32_t value)
{
    memcpy(&disk.device.config[offset], &value, sizeof(value));
}

void disk_prepare(enum fake_bus bus, uint16_t vectors)
{
    fake_reset_device(&disk.device, bus, vectors);
    memset(disk.cached, 0, sizeof(disk.cached));
    memset(disk.stable, 0, sizeof(disk.stable));
    memset(disk.device.config, 0, sizeof(disk.device.config));
    memset(disk.device.config_widths, 0, sizeof(disk.device.config_widths));
    disk.device.config_widths[0] = disk.device.config_widths[4] = 4; /* 4.2.2.2: in two halves */
    disk.device.config_widths[8] = disk.device.config_widths[12] = 4;
    disk.device.config_widths[20] = 4;
    disk.count = disk.flushes = disk.segments = 0;
    disk.largest = 0;
    disk.status = -1;
    disk.is_unwritten = false;
    disk.device.device_id = 2;
    disk.device.offered = VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC |
                          F_SIZE_MAX | F_SEG_MAX | F_BLK_SIZE | F_FLUSH | fake_ring_features;
    disk_configure(0, DISK_SECTORS);
    disk_configure(8, 4096);
    disk_configure(12, 16);
    disk_configure(20, 512);
    if (bus == FAKE_PCI) {
        fake_pci_describe(&disk.device, 0x1042);
    }
}

void disk_take(void)
{
    while (disk.count < DISK_REQUESTS && fake_pop(0, &disk.chains[disk.count])) {
        disk.count++;
    }
}

struct header {
    uint32_t type;
    uint32_t reserved;
    uint64_t sector;
};

/* Checks the form of a request (5.2.6, 5.2.6.1), and returns its header. */
static struct header check(const struct ring_chain *chain)
{
    struct header header;
    uint32_t bytes;

    assert_true(chain->count >= 2 && chain->segment[0].bytes == sizeof(header));
    memcpy(&header, fake_memory(&chain->segment[0]), sizeof(header));
    assert_int_equal(header.reserved, 0);
    assert_int_equal(chain->segment[chain->count - 1].bytes, 1);
    bytes = chain->readable - (uint32_t)sizeof(header) + chain->writable - 1;
    if (header.type == TYPE_FLUSH) {
        assert_true((fake->accepted & F_FLUSH) != 0 && header.sector == 0 && bytes == 0);
        return header;
    }
    assert_true(header.type == TYPE_IN || header.type == TYPE_OUT);
    assert_true(header.type == TYPE_IN || (fake->accepted & F_RO) == 0);
    assert_true(bytes != 0 && bytes % 512 == 0 && header.sector < DISK_SECTORS);
    assert_true(bytes / 512 <= DISK_SECTORS - header.sector);
    return header;
}

/* Moves the data. */
static void transfer(const struct ring_chain *chain, const struct header *header)
{
    uint8_t *at = &disk.cached[header->sector * 512];

    disk.segments = chain->count - 2;
    if ((fake->accepted & F_SEG_MAX) != 0) {
        assert_true(disk.segments <= 16);
    }
    for (unsigned i = 1; i < chain->count - 1; i++) {
        const struct ring_segment *segment = &chain->segment[i];

        assert_int_equal(segment->writable, header->type == TYPE_IN);
        disk.largest = segment->bytes > disk.largest ? segment->bytes : disk.largest;
        if (header->type == TYPE_IN) {
            memcpy(fake_memory(segment), at, segment->bytes);
        } else {
            memcpy(at, fake_memory(segment), segment->bytes);
        }
        at += segment->bytes;
    }
}

void disk_finish(unsigned place)
{
    struct ring_chain chain = disk.chains[place];
    struct header header = check(&chain);
    uint8_t *status = fake_memory(&chain.segment[chain.count - 1]);

    assert_true(place < disk.count);
    memmove(&disk.chains[place], &disk.chains[place + 1],
            (disk.count - place - 1) * sizeof(disk.chains[0]));
    disk.count--;
    if (disk.status < 0 && header.type == TYPE_FLUSH) {
        memcpy(disk.stable, disk.cached, sizeof(disk.stable));
        disk.flushes++;
    } else if (disk.status < 0) {
        transfer(&chain, &header);
    }
    if (!disk.is_unwritten) {
        *status = disk.status < 0 ? 0 : (uint8_t)disk.status;
    }
    fake_complete(0, &chain, chain.writable);
}
