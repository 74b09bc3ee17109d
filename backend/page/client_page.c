/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/client_page.h"

/* Bits of the device status (VIRTIO 1.3, 2.1). */
#define STATUS_DRIVER_OK   4u
#define STATUS_FEATURES_OK 8u
#define STATUS_NEEDS_RESET 64u
#define STATUS_FAILED      128u

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t load_long(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void client_page_init(struct client_page *page, const struct shared_device_page *shared,
                      unsigned queues)
{
    *page = (struct client_page){
        .shared = shared,
        .queues = queues,
        .continued = UINT32_MAX, /* by an earlier life of the program */
    };
}

static uint32_t ready_queues(const struct client_page *page)
{
    uint32_t ready = 0;

    for (unsigned i = 0; i < page->queues; i++) {
        ready |= load(&page->shared->queues[i].ready) == 1 ? 1u << i : 0;
    }
    return ready;
}

/* The device's generation is read before those of the queues, which the hypervisor changes first:
 * none of the queues that are known afterwards is older than it. */
bool client_page_has_stopped(struct client_page *page)
{
    uint32_t generation = load(&page->shared->generation);
    uint32_t changed = 0;

    if (page->is_known && generation == page->generation) {
        return false;
    }
    for (unsigned i = 0; i < page->queues; i++) {
        uint32_t queue_generation = load(&page->shared->queues[i].generation);

        changed |= queue_generation != page->queue_generations[i] ? 1u << i : 0;
        page->queue_generations[i] = queue_generation;
    }
    if (page->is_known) {
        page->continued &= ~changed;
    }
    page->is_known = true;
    page->generation = generation;
    return true;
}

bool client_page_has_changed(const struct client_page *page)
{
    return ready_queues(page) != page->ready;
}

/* Reads the setup of a queue that is ready. Returns false if it has changed meanwhile. */
static bool read_queue(const struct client_page *page, unsigned number,
                       struct device_queue_setup *setup)
{
    const struct shared_device_queue *queue = &page->shared->queues[number];
    uint32_t size = load(&queue->size);

    setup->descriptors = load_long(&queue->descriptors);
    setup->driver_area = load_long(&queue->driver_area);
    setup->device_area = load_long(&queue->device_area);
    setup->size = size <= DEVICE_QUEUE_SIZE_MAX ? (uint16_t)size : UINT16_MAX;
    return load(&queue->generation) == page->queue_generations[number];
}

bool client_page_read(struct client_page *page, struct client_page_setup *setup)
{
    uint32_t ready = ready_queues(page);
    uint32_t status = load(&page->shared->status);

    if ((status & (STATUS_DRIVER_OK | STATUS_FEATURES_OK)) !=
            (STATUS_DRIVER_OK | STATUS_FEATURES_OK) ||
        (status & (STATUS_NEEDS_RESET | STATUS_FAILED)) != 0) {
        return false;
    }
    *setup = (struct client_page_setup){
        .accepted = load_long(&page->shared->accepted),
        .ready = ready,
        /* If one of the queues continues, all do: a driver clears a queue's memory before it
         * enables it (4.2.3.2), so that the used index of a new one is 0. */
        .resumed = (page->continued & ready) != 0,
    };
    for (unsigned i = 0; i < page->queues; i++) {
        if ((ready >> i & 1) != 0 && !read_queue(page, i, &setup->queues[i])) {
            return false;
        }
    }
    /* A reset clears the status, then `accepted`, and changes the generation last. */
    if (load(&page->shared->status) != status ||
        load(&page->shared->generation) != page->generation) {
        return false;
    }
    page->ready = ready;
    page->continued = UINT32_MAX;
    return true;
}
