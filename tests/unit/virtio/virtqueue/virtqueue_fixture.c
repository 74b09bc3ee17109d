/* SPDX-License-Identifier: BSD-2-Clause */
/* A virtqueue without a driver, with the fake device at its other end. */
#include "virtqueue_fixture.h"
#include <string.h>

struct virtqueue_segment fixture_segment(struct virtqueue_fixture *fixture, unsigned which,
                                         uint32_t bytes)
{
    return (struct virtqueue_segment){virtio_platform_dma_address(fixture->memory[which]), bytes};
}

void fixture_begin(struct virtqueue_fixture *fixture, uint16_t size, uint64_t features,
                   uint16_t tables, uint16_t entries)
{
    struct virtqueue_options options = {
        .size = size,
        .features = features | fake_ring_features,
        .indirect_tables = tables,
        .indirect_entries = entries,
    };

    fake_reset_device(&fixture->device, FAKE_MMIO, 0);
    assert_true(virtqueue_create(&fixture->queue, &options));
    fixture->device.accepted = options.features;
    fixture_restart(fixture);
}

void fixture_restart(struct virtqueue_fixture *fixture)
{
    struct virtio_queue_setup setup = {0};

    virtqueue_describe(&fixture->queue, &setup);
    memset(&fixture->device.queue[0], 0, sizeof(fixture->device.queue[0]));
    fixture->device.queue[0].enabled = true;
    fixture->device.queue[0].ring.size = setup.size;
    fixture->device.queue[0].ring.descriptors = setup.descriptors;
    fixture->device.queue[0].ring.driver_area = setup.driver_area;
    fixture->device.queue[0].ring.device_area = setup.device_area;
}

void fixture_end(struct virtqueue_fixture *fixture)
{
    uint16_t position = 0;

    while (virtqueue_detach(&fixture->queue, &position) != NULL) {
    }
    assert_int_equal(virtqueue_in_flight(&fixture->queue), 0);
    virtqueue_destroy(&fixture->queue);
    assert_int_equal(fake_allocations, 0);
}

void *fixture_take(struct virtqueue_fixture *fixture, uint32_t *bytes)
{
    struct virtqueue_item item = {0};

    if (!fake_batches) {
        return virtqueue_take(&fixture->queue, bytes);
    }
    if (virtqueue_take_batch(&fixture->queue, &item, 1) == 0) {
        return NULL;
    }
    *bytes = item.bytes;
    return item.token;
}

bool fixture_add(struct virtqueue_fixture *fixture, unsigned which, unsigned readable,
                 unsigned writable)
{
    struct virtqueue_segment segments[64];

    if (fake_batches && readable + writable == 1) {
        struct virtqueue_segment segment = fixture_segment(fixture, which, 8);
        struct virtqueue_item item = {fixture->memory[which], segment.address, segment.bytes};

        return virtqueue_add_batch(&fixture->queue, &item, 1, writable != 0) == 1;
    }
    for (unsigned i = 0; i < readable + writable; i++) {
        segments[i] = fixture_segment(fixture, (which + i) % 64, 8 + i);
    }
    return virtqueue_add(&fixture->queue, segments, readable, writable, fixture->memory[which]);
}
