/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

static uint16_t size;
static bool packed;
static bool event_index;
static uint8_t *ring; /* descriptors */
static uint8_t *driver_area;
static uint8_t *device_area;
static uint16_t available; /* split: chains; packed: descriptors, free-running */
static uint16_t used;
static uint16_t signalled;

static uint8_t *descriptor(uint16_t place)
{
    return ring + (size_t)16 * (place % size);
}

static uint8_t *used_element(uint16_t place)
{
    return device_area + 4 + (size_t)8 * (place % size);
}

void device_attach(const struct virtio_queue_setup *setup, uint64_t features)
{
    size = setup->size;
    packed = (features & VIRTIO_F_RING_PACKED) != 0;
    event_index = (features & VIRTIO_F_EVENT_IDX) != 0;
    ring = (uint8_t *)(uintptr_t)setup->descriptors;
    driver_area = (uint8_t *)(uintptr_t)setup->driver_area;
    device_area = (uint8_t *)(uintptr_t)setup->device_area;
    available = used = signalled = 0;
}

/* A descriptor's parts, accessed as the driver does (virtio/virtqueue/descriptor.h): an access to
 * data that is not shared is known by where it begins. */
#ifdef VIRTQUEUE_DESCRIPTORS_APART
#define SHARED_OFFSET 14u /* the flags of a packed one */
#define SHARED_BYTES  2u

static uint64_t load_address(const uint8_t *at)
{
    return model_load(at, 4) | model_load(at + 4, 4) << 32;
}

static uint64_t load_rest(const uint8_t *at)
{
    return model_load(at + 8, 4) | model_load(at + 12, 2) << 32 | model_load(at + 14, 2) << 48;
}

static void store_used(uint8_t *at, uint16_t id, uint16_t flags)
{
    model_store(at + 8, 4, sizeof(uint64_t));
    model_store(at + 12, 2, id);
    model_release();
    model_store(at + 14, 2, flags);
}
#else
#define SHARED_OFFSET 8u
#define SHARED_BYTES  8u

static uint64_t load_address(const uint8_t *at)
{
    return model_load(at, 8);
}

static uint64_t load_rest(const uint8_t *at)
{
    return model_load(at + 8, 8);
}

static void store_used(uint8_t *at, uint16_t id, uint16_t flags)
{
    model_store(at + 8, 4, sizeof(uint64_t));
    model_release();
    model_store(at + 12, 4, id | (uint64_t)flags << 16);
}
#endif

void device_share(void)
{
    if (packed) {
        for (uint16_t i = 0; i < size; i++) {
            model_share(descriptor(i) + SHARED_OFFSET, SHARED_BYTES);
        }
        model_share(driver_area, 4);
        model_share(device_area, 4);
        return;
    }
    for (unsigned offset = 0; offset <= 2; offset += 2) { /* flags, index */
        model_share(driver_area + offset, 2);
        model_share(device_area + offset, 2);
    }
    model_share(driver_area + 4 + (size_t)2 * size, 2); /* used_event */
    model_share(device_area + 4 + (size_t)8 * size, 2); /* avail_event */
}

/* 2.8.1 */
static bool wrap(uint16_t place)
{
    return place / size % 2 == 0;
}

/* Flags of a packed descriptor that is available, else 0. */
static uint16_t packed_flags(uint16_t place)
{
    uint16_t flags = (uint16_t)model_load(descriptor(place) + 14, 2);

    return ((flags & 0x80) != 0) == wrap(place) && ((flags & 0x8000) != 0) != wrap(place) ? flags
                                                                                          : 0;
}

static bool is_available(void)
{
    return packed ? packed_flags(available) != 0
                  : (uint16_t)model_load(driver_area + 2, 2) != available;
}

static void add_segment(struct device_chain *chain, const uint8_t *at, uint16_t flags)
{
    uint64_t *memory = (uint64_t *)(uintptr_t)load_address(at);

    MODEL_CHECK((flags & 4) == 0);
    if ((flags & 2) != 0) {
        chain->reply = memory;
    } else {
        chain->request = memory;
    }
    chain->descriptors++;
}

bool device_take(struct device_chain *chain)
{
    uint16_t flags;

    *chain = (struct device_chain){0};
    if (!is_available()) {
        return false;
    }
    model_acquire();
    if (packed) {
        do {
            flags = packed_flags(available);
            MODEL_CHECK(flags != 0); /* 2.8.17: the first one comes last */
            add_segment(chain, descriptor(available), flags);
            chain->id = (uint16_t)model_load(descriptor(available) + 12, 2);
            available++;
        } while ((flags & 1) != 0);
    } else {
        uint16_t next = (uint16_t)model_load(driver_area + 4 + (size_t)2 * (available % size), 2);

        chain->id = next;
        do {
            uint64_t rest = load_rest(descriptor(next));

            flags = (uint16_t)(rest >> 32);
            add_segment(chain, descriptor(next), flags);
            next = (uint16_t)(rest >> 48);
        } while ((flags & 1) != 0);
        available++;
    }
    MODEL_CHECK(chain->reply != NULL);
    return true;
}

void device_await(void)
{
    model_await(packed ? descriptor(available) + SHARED_OFFSET : driver_area + 2);
}

void device_finish(const struct device_chain *chain, unsigned count)
{
    uint16_t id = chain[count - 1].id;
    uint16_t descriptors = 0;

    for (unsigned i = 0; i < count; i++) {
        uint64_t reply = DEVICE_REPLY;

        if (chain[i].request != NULL) {
            reply = model_load(chain[i].request, 8) + 1;
        }
        model_store(chain[i].reply, 8, reply);
        descriptors = (uint16_t)(descriptors + chain[i].descriptors);
    }
    if (packed) {
        store_used(descriptor(used), id, wrap(used) ? 0x8080 : 0);
        used = (uint16_t)(used + descriptors);
    } else {
        uint8_t *at = used_element(used);

        model_store(at, 4, id);
        model_store(at + 4, 4, sizeof(uint64_t));
        model_release();
        used = (uint16_t)(used + count);
        model_store(device_area + 2, 2, used);
    }
}

bool device_interrupts(void)
{
    uint16_t before = signalled;
    uint32_t event;
    uint16_t place;

    signalled = used;
    model_full();
    if (!packed) {
        if (!event_index) {
            return (model_load(driver_area, 2) & 1) == 0;
        }
        place = (uint16_t)model_load(driver_area + 4 + (size_t)2 * size, 2);
        return (uint16_t)(used - place - 1u) < (uint16_t)(used - before);
    }
    event = (uint32_t)model_load(driver_area, 4);
    if ((event & 0x30000) != 0x20000) {
        return (event & 0x30000) == 0;
    }
    for (place = before; place != used; place++) {
        if ((event & 0xffff) == (place % size | (wrap(place) ? 0x8000u : 0))) {
            return true;
        }
    }
    return false;
}

bool device_may_sleep(void)
{
    if (packed) {
        uint32_t place = available % size | (wrap(available) ? 0x8000u : 0);

        model_store(device_area, 4, event_index ? 0x20000 | place : 0);
    } else if (event_index) {
        model_store(device_area + 4 + (size_t)8 * size, 2, available);
    } else {
        model_store(device_area, 2, 0);
    }
    model_full();
    return !is_available();
}

void device_wakes(void)
{
    if (packed) {
        model_store(device_area, 4, 0x10000);
    } else if (!event_index) {
        model_store(device_area, 2, 1);
    }
}

void device_await_finished(uint16_t finished)
{
    model_await(packed ? descriptor(finished) + SHARED_OFFSET : device_area + 2);
}
