/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"
#include "hardware_models/virtio/ring_layout.h"

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
    return ring + ring_descriptor_offset(place, size);
}

static uint8_t *used_element(uint16_t place)
{
    return device_area + ring_used_element_offset(place, size);
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

/* The parts of a descriptor, in the same accesses as the driver's (virtio/virtqueue/descriptor.h):
 * the explorer identifies an access to data that is not shared by the address at which it begins.
 */
#ifdef VIRTQUEUE_DESCRIPTORS_APART
#define SHARED_OFFSET RING_PACKED_DESCRIPTOR_FLAGS
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
    model_store(at + RING_DESCRIPTOR_LENGTH, 4, sizeof(uint64_t));
    model_store(at + RING_PACKED_DESCRIPTOR_ID, 2, id);
    model_release();
    model_store(at + RING_PACKED_DESCRIPTOR_FLAGS, 2, flags);
}
#else
#define SHARED_OFFSET RING_DESCRIPTOR_LENGTH
#define SHARED_BYTES  8u

static uint64_t load_address(const uint8_t *at)
{
    return model_load(at, 8);
}

static uint64_t load_rest(const uint8_t *at)
{
    return model_load(at + RING_DESCRIPTOR_LENGTH, 8);
}

static void store_used(uint8_t *at, uint16_t id, uint16_t flags)
{
    model_store(at + RING_DESCRIPTOR_LENGTH, 4, sizeof(uint64_t));
    model_release();
    model_store(at + RING_PACKED_DESCRIPTOR_ID, 4, id | (uint64_t)flags << 16);
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
    model_share(driver_area + RING_FLAGS_OFFSET, 2);
    model_share(device_area + RING_FLAGS_OFFSET, 2);
    model_share(driver_area + RING_INDEX_OFFSET, 2);
    model_share(device_area + RING_INDEX_OFFSET, 2);
    model_share(driver_area + ring_used_event_offset(size), 2);
    model_share(device_area + ring_available_event_offset(size), 2);
}

/* Flags of a packed descriptor that is available, else 0. */
static uint16_t packed_flags(uint16_t place)
{
    uint16_t flags = (uint16_t)model_load(descriptor(place) + RING_PACKED_DESCRIPTOR_FLAGS, 2);

    return ring_is_available(flags, place, size) ? flags : 0;
}

static bool is_available(void)
{
    return packed ? packed_flags(available) != 0
                  : (uint16_t)model_load(driver_area + RING_INDEX_OFFSET, 2) != available;
}

static void add_segment(struct device_chain *chain, const uint8_t *at, uint16_t flags)
{
    uint64_t *memory = (uint64_t *)(uintptr_t)load_address(at);

    MODEL_CHECK((flags & RING_INDIRECT) == 0);
    if ((flags & RING_WRITE) != 0) {
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
            chain->id = (uint16_t)model_load(descriptor(available) + RING_PACKED_DESCRIPTOR_ID, 2);
            available++;
        } while ((flags & RING_NEXT) != 0);
    } else {
        uint16_t next =
            (uint16_t)model_load(driver_area + ring_available_entry_offset(available, size), 2);

        chain->id = next;
        do {
            uint64_t rest = load_rest(descriptor(next));

            flags = (uint16_t)(rest >> 32);
            add_segment(chain, descriptor(next), flags);
            next = (uint16_t)(rest >> 48);
        } while ((flags & RING_NEXT) != 0);
        available++;
    }
    MODEL_CHECK(chain->reply != NULL);
    return true;
}

void device_await(void)
{
    model_await(packed ? descriptor(available) + SHARED_OFFSET : driver_area + RING_INDEX_OFFSET);
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
        store_used(descriptor(used), id, ring_used_flags(used, size));
        used = (uint16_t)(used + descriptors);
    } else {
        uint8_t *at = used_element(used);

        model_store(at, 4, id);
        model_store(at + RING_USED_ELEMENT_LENGTH, 4, sizeof(uint64_t));
        model_release();
        used = (uint16_t)(used + count);
        model_store(device_area + RING_INDEX_OFFSET, 2, used);
    }
}

bool device_interrupts(void)
{
    uint16_t before = signalled;
    uint16_t event;
    uint32_t suppression; /* event, and flags above it (2.8.14) */
    unsigned flags;

    signalled = used;
    model_full();
    if (!packed) {
        if (!event_index) {
            return (model_load(driver_area + RING_FLAGS_OFFSET, 2) & RING_AVAILABLE_NO_INTERRUPT) ==
                   0;
        }
        event = (uint16_t)model_load(driver_area + ring_used_event_offset(size), 2);
        return ring_passed_event(event, before, used);
    }
    suppression = (uint32_t)model_load(driver_area, 4);
    event = (uint16_t)suppression;
    flags = suppression >> 16 & RING_EVENT_FLAGS;
    if (flags != RING_EVENT_DESCRIPTOR) {
        return flags == RING_EVENT_ENABLE;
    }
    for (uint16_t place = before; place != used; place++) {
        if (event == ring_event_at(place, size)) {
            return true;
        }
    }
    return false;
}

/* Stores the device's event suppression structure (2.8.14), which is one word to the explorer. */
static void store_suppression(uint16_t event, uint32_t flags)
{
    model_store(device_area, 4, flags << 16 | event);
}

bool device_may_sleep(void)
{
    if (packed) {
        store_suppression(event_index ? ring_event_at(available, size) : 0,
                          event_index ? RING_EVENT_DESCRIPTOR : RING_EVENT_ENABLE);
    } else if (event_index) {
        model_store(device_area + ring_available_event_offset(size), 2, available);
    } else {
        model_store(device_area + RING_FLAGS_OFFSET, 2, 0);
    }
    model_full();
    return !is_available();
}

void device_wakes(void)
{
    if (packed) {
        store_suppression(0, RING_EVENT_DISABLE);
    } else if (!event_index) {
        model_store(device_area + RING_FLAGS_OFFSET, 2, RING_USED_NO_NOTIFY);
    }
}

void device_await_finished(uint16_t finished)
{
    model_await(packed ? descriptor(finished) + SHARED_OFFSET : device_area + RING_INDEX_OFFSET);
}
