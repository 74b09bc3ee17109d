/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the memory order of the virtqueues: the library's own code (virtio/virtqueue) runs as one
 * thread and a device as the other, in all executions that a weak memory model allows
 * (weak_memory.h). For both ring formats, with and without EVENT_IDX and IN_ORDER:
 *   - The device reads no descriptor and no buffer before they are complete. The driver reads no
 * used entry and no buffer before the device has written them. Neither overwrites memory that the
 *     other still reads. Each violation would be a data race.
 *   - No notification and no interrupt is lost. A loss would make a thread wait for ever.
 * Each of the library's barriers is also removed once, which the checks must find.
 */
#include "device.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CHAINS_MAX     3u
#define EXECUTIONS_MAX 3000000u
#define BARRIERS       8u /* number of barriers in both formats, counted by function */
#define SITES_MAX      16u

enum { KICK, INTERRUPT };

struct site {
    enum virtio_barrier barrier;
    const char *function;
};

static struct site sites[SITES_MAX]; /* the library's barriers */
static unsigned site_count;
static unsigned left_out;
static uint64_t features;
static unsigned chains; /* chains of this program */
static bool batches;    /* use the functions for several chains */
static struct virtqueue queue;
static uint64_t requests[CHAINS_MAX];
static uint64_t replies[CHAINS_MAX];
static _Alignas(64) uint8_t heap[4096];
static size_t heap_used;

void model_barrier(enum virtio_barrier barrier, const char *function)
{
    unsigned i = 0;

    while (i < site_count &&
           (sites[i].barrier != barrier || strcmp(sites[i].function, function) != 0)) {
        i++;
    }
    if (i == site_count) {
        MODEL_CHECK(site_count < SITES_MAX);
        sites[site_count++] = (struct site){.barrier = barrier, .function = function};
    }
    if (i == left_out) {
        return;
    }
    switch (barrier) {
    case VIRTIO_BARRIER_PUBLISH:
        model_release();
        break;
    case VIRTIO_BARRIER_OBSERVE:
        model_acquire();
        break;
    default:
        model_full();
    }
}

/* The parts of the platform that rings need. */

void *virtio_platform_allocate(size_t bytes)
{
    void *place = &heap[heap_used];

    heap_used += (bytes + 63) / 64 * 64;
    MODEL_CHECK(heap_used <= sizeof(heap));
    memset(place, 0, bytes);
    return place;
}

void virtio_platform_free(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    void *place = virtio_platform_allocate(bytes);

    (void)alignment;
    *address = (uintptr_t)place;
    return place;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    virtio_platform_free(memory, bytes);
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    return (uintptr_t)memory;
}

void virtio_platform_log(const char *format, ...)
{
    (void)format;
    MODEL_CHECK(false); /* the driver makes no mistake that would be logged */
}

/* The driver's part of an exchange. */

static void create(uint16_t size, unsigned count)
{
    struct virtqueue_options options = {.size = size, .features = features};
    struct virtio_queue_setup setup = {0};

    heap_used = 0;
    chains = count;
    memset(requests, 0, sizeof(requests));
    memset(replies, 0, sizeof(replies));
    MODEL_CHECK(virtqueue_create(&queue, &options));
    virtqueue_describe(&queue, &setup);
    device_attach(&setup, features);
}

/* Adds a request and a reply, in a batch only a reply. */
static void add(unsigned number)
{
    struct virtqueue_segment segments[2] = {
        {(uintptr_t)&requests[number], sizeof(requests[number])},
        {(uintptr_t)&replies[number], sizeof(replies[number])},
    };
    struct virtqueue_item item = {&replies[number], segments[1].address, segments[1].bytes};

    if (batches) {
        MODEL_CHECK(virtqueue_add_batch(&queue, &item, 1, true) == 1);
    } else {
        model_store(&requests[number], 8, 100 + number);
        MODEL_CHECK(virtqueue_add(&queue, segments, 1, 1, &replies[number]));
    }
}

static void publish(void)
{
    if (virtqueue_publish(&queue)) {
        model_signal(KICK);
    }
}

/* Returns the number of chains. */
static unsigned take(void)
{
    struct virtqueue_item items[CHAINS_MAX];
    unsigned count;

    if (batches) {
        count = virtqueue_take_batch(&queue, items, CHAINS_MAX);
    } else {
        items[0].token = virtqueue_take(&queue, &items[0].bytes);
        count = items[0].token != NULL;
    }
    MODEL_CHECK(queue.broken == NULL);
    for (unsigned i = 0; i < count; i++) {
        const uint64_t *reply = items[i].token;
        unsigned number = (unsigned)(reply - replies);

        MODEL_CHECK(items[i].bytes == sizeof(*reply));
        MODEL_CHECK(model_load(reply, 8) == (batches ? DEVICE_REPLY : 101 + number));
    }
    return count;
}

static unsigned await_and_take(void)
{
    unsigned count;

    do {
        device_await_finished(queue.ring_taken);
        count = take();
    } while (count == 0);
    return count;
}

/* The programs. */

static void device_polls(void)
{
    struct device_chain chain;

    for (unsigned done = 0; done < chains; done++) {
        while (!device_take(&chain)) {
            device_await();
        }
        device_finish(&chain, 1);
    }
}

/* The driver polls too, and uses the same descriptors and buffers again and again. */
static void driver_polls(void)
{
    for (unsigned round = 0; round < chains; round++) {
        add(0);
        publish();
        (void)await_and_take();
    }
}

static void prepare_short(void)
{
    create(2, 3);
    device_wakes();
    device_share();
}

/* The driver publishes two chains at once: when the device sees the first, the second is
 * complete. */
static void driver_publishes_two(void)
{
    add(0);
    add(1);
    publish();
    (void)await_and_take();
    add(2);
    publish();
}

/* The device may use one used entry for two chains: when the driver sees it, both replies are
 * complete. */
static void device_finishes_two(void)
{
    struct device_chain chain[2];

    for (unsigned done = 0; done < 2; done++) {
        while (!device_take(&chain[done])) {
            device_await();
        }
        if (!queue.in_order) {
            device_finish(&chain[done], 1);
        }
    }
    if (queue.in_order) {
        device_finish(chain, 2);
    }
}

static void driver_takes_two(void)
{
    add(0);
    add(1);
    publish();
    for (unsigned taken = await_and_take(); taken < 2;) {
        unsigned count = take();

        taken += count != 0 ? count : await_and_take();
    }
}

static void prepare_long(void)
{
    create(4, 3);
    device_wakes();
    device_share();
}

static void device_sleeps(void)
{
    struct device_chain chain;

    for (unsigned done = 0; done < chains;) {
        if (device_take(&chain)) {
            device_finish(&chain, 1);
            done++;
        } else {
            if (device_may_sleep()) {
                model_wait(KICK);
            }
            device_wakes();
        }
    }
}

static void driver_adds(void)
{
    for (unsigned i = 0; i < chains; i++) {
        add(i);
        publish();
    }
}

static void prepare_kicks(void)
{
    create(4, 2);
    device_wakes();
    device_share();
}

static void device_interrupts_driver(void)
{
    struct device_chain chain;

    while (device_take(&chain)) {
        device_finish(&chain, 1);
        if (device_interrupts()) {
            model_signal(INTERRUPT);
        }
    }
}

static void driver_sleeps(void)
{
    for (unsigned taken = 0; taken < chains;) {
        unsigned count = take();

        if (count != 0) {
            taken += count;
        } else if (virtqueue_enable(&queue, 0)) {
            model_wait(INTERRUPT);
            virtqueue_suppress(&queue);
        }
    }
}

/* Sleeps until the last of the remaining chains is used. */
static void driver_sleeps_long(void)
{
    for (unsigned taken = 0; taken < chains;) {
        if (virtqueue_enable(&queue, (uint16_t)(chains - 1 - taken))) {
            model_wait(INTERRUPT);
            virtqueue_suppress(&queue);
        }
        taken += take();
    }
}

static void prepare_full(void)
{
    create(4, 2);
    for (unsigned i = 0; i < chains; i++) {
        add(i);
    }
    (void)virtqueue_publish(&queue);
    device_share();
}

static const struct model_program programs[] = {
    {"poll", prepare_short, {driver_polls, device_polls}},
    {"publish two", prepare_long, {driver_publishes_two, device_polls}},
    {"take two", prepare_long, {driver_takes_two, device_finishes_two}},
    {"kick", prepare_kicks, {driver_adds, device_sleeps}},
    {"interrupt", prepare_full, {driver_sleeps, device_interrupts_driver}},
    {"delayed interrupt", prepare_full, {driver_sleeps_long, device_interrupts_driver}},
};

/* Returns NULL, or the error of a program that fails with some kind of ring. */
static const char *explore_all(bool report)
{
    for (unsigned variant = 0; variant < 16; variant++) {
        features = ((variant & 1) != 0 ? VIRTIO_F_RING_PACKED : 0) |
                   ((variant & 2) != 0 ? VIRTIO_F_EVENT_IDX : 0) |
                   ((variant & 4) != 0 ? VIRTIO_F_IN_ORDER : 0);
        batches = (variant & 8) != 0;
        for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
            struct model_result result = model_explore(&programs[i], EXECUTIONS_MAX);

            if (report) {
                print_message("%s%s%s%s, %s: %llu executions\n",
                              (variant & 1) != 0 ? "packed" : "split",
                              (variant & 2) != 0 ? ", events" : "",
                              (variant & 4) != 0 ? ", in order" : "", batches ? ", batches" : "",
                              programs[i].name, (unsigned long long)result.executions);
            }
            if (result.error != NULL) {
                return result.error;
            }
        }
    }
    return NULL;
}

static void rings_hold(void **state)
{
    const char *what;

    (void)state;
    left_out = SITES_MAX;
    what = explore_all(true);
    if (what != NULL) {
        fail_msg("%s", what);
    }
}

static void every_barrier_matters(void **state)
{
    static const char *const name[] = {"publish", "observe", "full"};

    (void)state;
    assert_int_equal(site_count, BARRIERS);
    for (left_out = 0; left_out < site_count; left_out++) {
        const char *what = explore_all(false);

        print_message("without the %s barrier in %s(): %s\n", name[sites[left_out].barrier],
                      sites[left_out].function, what != NULL ? what : "nothing");
        assert_non_null(what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_hold),
        cmocka_unit_test(every_barrier_matters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
