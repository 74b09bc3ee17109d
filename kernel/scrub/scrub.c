/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/scrub.h"

#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "scrub/digests.h"
#include <arch/image.h>

#define STACK_BYTES ((size_t)4096)

static struct {
    struct scrub_digests digests;
    uint64_t pause; /* nanoseconds between two pages */
} scrubber;

static void scrub(void *argument)
{
    (void)argument;
    for (size_t page = 0;; page = (page + 1) % scrubber.digests.page_count) {
        const void *changed = scrub_digests_changed(&scrubber.digests, page);

        if (changed != NULL) {
            panic("scrubber: the page at %p has changed", changed);
        }
        thread_sleep_until(time_after(scrubber.pause));
    }
}

/* Adds the image's code and constants, which the boot code has relocated, and the program's ranges.
 * Returns false if one of them is refused. */
static bool add_ranges(const struct scrub_attributes *attributes)
{
    const struct scrub_range image = {image_start, (size_t)(image_constants_end - image_start)};

    if (!scrub_digests_add(&scrubber.digests, &image)) {
        return false;
    }
    for (size_t i = 0; i < attributes->range_count; i++) {
        if (!scrub_digests_add(&scrubber.digests, &attributes->ranges[i])) {
            return false;
        }
    }
    return true;
}

enum result scrub_start(const struct scrub_attributes *attributes)
{
    const struct thread_attributes thread_attributes = {
        .name = "scrubber", .priority = attributes->priority, .stack_bytes = STACK_BYTES};
    struct thread *thread;
    uint64_t *memory;
    enum result result;

    if (scrubber.digests.digests != NULL) {
        return RESULT_BUSY;
    }
    scrubber.digests = (struct scrub_digests){0};
    if (attributes->period == 0 || !add_ranges(attributes)) {
        return RESULT_INVALID;
    }
    memory = heap_allocate(scrubber.digests.page_count * sizeof(*memory));
    if (memory == NULL) {
        return RESULT_NO_MEMORY;
    }
    scrub_digests_make(&scrubber.digests, memory);
    scrubber.pause = attributes->period / scrubber.digests.page_count;
    result = thread_create(&thread, &thread_attributes, scrub, NULL);
    if (result != RESULT_OK) {
        scrubber.digests.digests = NULL;
        heap_free(memory);
    }
    return result;
}
