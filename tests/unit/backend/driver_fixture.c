/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver_fixture.h"

#include "fake.h"

/* Of the device status (VIRTIO 1.3, 2.1). */
#define STARTED     (8u | 4u) /* FEATURES_OK, DRIVER_OK */
#define NEEDS_RESET 64u

static struct fake_device device; /* unused, but for the platform's functions */
static const struct device_memory_region everything = {
    .start = FAKE_DMA_OFFSET + 4096,
    .bytes = UINT64_C(1) << 47,
    .here = (uint8_t *)4096,
};

void driver_fixture_begin(void)
{
    fake_reset_device(&device, FAKE_MMIO, 0);
    fake_allocations = 0; /* a failed test may have left others */
}

void driver_fixture_end(void)
{
    assert_int_equal(fake_allocations, 0);
}

struct device_memory driver_fixture_memory(void)
{
    return (struct device_memory){.regions = &everything, .count = 1};
}

void driver_create_queue(struct shared_device_page *page, unsigned number, struct virtqueue *queue,
                         uint64_t features, uint16_t indirect_tables)
{
    const struct virtqueue_options options = {
        .size = RING,
        .features = features,
        .indirect_tables = indirect_tables,
        .indirect_entries = indirect_tables != 0 ? RING : 0,
    };
    struct shared_device_queue *described = &page->queues[number];
    struct virtio_queue_setup setup = {0};

    assert_true(virtqueue_create(queue, &options));
    virtqueue_describe(queue, &setup);
    described->descriptors = setup.descriptors;
    described->driver_area = setup.driver_area;
    described->device_area = setup.device_area;
    described->size = setup.size;
    described->ready = 1;
}

void driver_set_started(struct shared_device_page *page, uint64_t features)
{
    page->accepted = features;
    page->status = STARTED;
}

void driver_set_reset(struct shared_device_page *page, unsigned queues)
{
    for (unsigned i = 0; i < queues; i++) {
        page->queues[i].generation += page->queues[i].ready;
        page->queues[i].ready = 0;
    }
    page->status = 0;
    page->accepted = 0;
    page->generation++;
}

void driver_set_failed(struct shared_device_page *page)
{
    page->status |= NEEDS_RESET;
}

void driver_free_queue(struct virtqueue *queue, void (*release)(void *token))
{
    uint16_t position = 0;
    void *token;

    while ((token = virtqueue_detach(queue, &position)) != NULL) {
        release(token);
    }
    virtqueue_destroy(queue);
}
