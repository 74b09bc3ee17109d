/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explores the page of a shared device: the hypervisor writes it for the client's driver
 * (hypervisor/shared_device/registers.c) while the back-end reads it (backend/page/client_page.c).
 *   - What the back-end reads is one setup of the driver, never parts of two, or of one that ends.
 *   - It accesses the ring of a setup only until it acknowledges the end, so the driver uses the
 *     memory again without a race. It always finds the last setup.
 *   - The driver's interrupt does not get lost: it finds the last used index.
 */
#include "backend/client_page.h"
#include "orders.h"
#include "shared_device/registers.h"
#include <devices/virtio_mmio_registers.h>
#include <string.h>

#define ORDERS         4u
#define EXECUTIONS_MAX 20000000u

#define FEATURE_VERSION_1 (UINT64_C(1) << 32)
#define DRIVER            3u /* device status: ACKNOWLEDGE, DRIVER */
#define PLACE             0x1000u

enum { ACKNOWLEDGED, RESET, DONE, INTERRUPT };

static const struct shared_device_kind kind = {.features = FEATURE_VERSION_1,
                                               .required = FEATURE_VERSION_1,
                                               .device_id = 1,
                                               .queue_count = 1,
                                               .queue_size_max = 8};
static struct shared_device_page page;
static struct shared_device_registers registers;
static const struct shared_device device = {&kind, &registers, &page};
static uint32_t lock; /* of the device, for what follows */
static uint32_t acknowledged;

static struct client_page known; /* the back-end's */
static struct client_page_setup setup;
static bool serves;
static bool is_patient;     /* the driver waits until the back-end has stopped */
static uint32_t ring;       /* data of both: the number of the setup */
static uint32_t used_index; /* the back-end writes it, the driver reads it */

static void write_register(uint64_t offset, uint32_t value)
{
    struct access access = {.offset = offset, .value = value, .bytes = 4, .write = true};
    enum shared_device_effect effect;

    MODEL_CHECK(shared_device_access(&device, &access, &effect) == ACCESS_DONE);
}

/* Each setup has its own place and size. */
static void set_up_queue(uint32_t number)
{
    if (is_patient) {
        model_store(&ring, sizeof(ring), number);
    }
    write_register(VIRTIO_MMIO_QUEUE_SIZE, 1u << number);
    write_register(VIRTIO_MMIO_QUEUE_DESCRIPTORS, PLACE * number);
    write_register(VIRTIO_MMIO_QUEUE_READY, 1);
}

static void negotiate(void)
{
    write_register(VIRTIO_MMIO_STATUS, DRIVER);
    write_register(VIRTIO_MMIO_ACCEPTED_SELECT, 1);
    write_register(VIRTIO_MMIO_ACCEPTED, 1);
    write_register(VIRTIO_MMIO_STATUS, DRIVER | VIRTIO_MMIO_STATUS_FEATURES_OK);
}

static void start_driver(uint32_t number)
{
    negotiate();
    set_up_queue(number);
    write_register(VIRTIO_MMIO_STATUS, VIRTIO_MMIO_STATUS_DRIVER_OK);
}

/* An access that stops queues, repeated until the back-end has stopped. */
static void stop(uint64_t offset)
{
    bool has_stopped = false;

    model_lock(&lock);
    write_register(offset, 0);
    model_unlock(&lock);
    model_signal(RESET);
    while (!has_stopped) {
        model_wait(ACKNOWLEDGED);
        model_lock(&lock);
        has_stopped = acknowledged == page.generation;
        model_unlock(&lock);
    }
}

static void acknowledge(void)
{
    model_lock(&lock);
    if (known.generation == page.generation) {
        acknowledged = known.generation;
    }
    model_unlock(&lock);
    model_signal(ACKNOWLEDGED);
}

/* Returns the number of the setup, which is whole. */
static uint32_t check_setup(void)
{
    uint32_t number = (uint32_t)(setup.queues[0].descriptors / PLACE);

    MODEL_CHECK(setup.accepted == FEATURE_VERSION_1);
    MODEL_CHECK(setup.ready == 0 || setup.queues[0].size == 1u << number);
    return number;
}

/* A round of the back-end. */
static void follow(void)
{
    if (client_page_has_stopped(&known)) {
        serves = false;
        acknowledge();
    }
    if (serves && client_page_has_changed(&known)) {
        serves = false;
    }
    if (!serves && client_page_read(&known, &setup)) {
        serves = true;
        (void)check_setup();
    }
    if (serves && setup.ready != 0 && is_patient) {
        MODEL_CHECK(model_load(&ring, sizeof(ring)) == check_setup());
    }
}

static void prepare(void)
{
    memset(&page, 0, sizeof(page));
    memset(&registers, 0, sizeof(registers));
    acknowledged = ring = used_index = 0;
    serves = false;
    is_patient = true;
    client_page_init(&known, &page, 1);
}

/* Registers the words with their values: the last step of a preparation. */
static void share(void)
{
    model_share(&page.accepted, sizeof(page.accepted));
    model_share(&page.status, sizeof(page.status));
    model_share(&page.generation, sizeof(page.generation));
    model_share(&page.queues[0].descriptors, sizeof(uint64_t));
    model_share(&page.queues[0].driver_area, sizeof(uint64_t));
    model_share(&page.queues[0].device_area, sizeof(uint64_t));
    model_share(&page.queues[0].size, sizeof(uint32_t));
    model_share(&page.queues[0].ready, sizeof(uint32_t));
    model_share(&page.queues[0].generation, sizeof(uint32_t));
    model_share(&used_index, sizeof(used_index));
}

static void prepare_new(void)
{
    prepare();
    share();
}

static void prepare_served(void)
{
    prepare();
    start_driver(1);
    follow();
    share();
}

static void prepare_for_impatient_driver(void)
{
    prepare();
    is_patient = false;
    start_driver(1);
    MODEL_CHECK(client_page_has_stopped(&known));
    share();
}

/* The driver has set no queue up. The back-end begins. */
static void prepare_without_queues(void)
{
    prepare();
    negotiate();
    write_register(VIRTIO_MMIO_STATUS, VIRTIO_MMIO_STATUS_DRIVER_OK);
    MODEL_CHECK(client_page_has_stopped(&known));
    share();
}

static void start_once(void)
{
    start_driver(1);
    model_signal(DONE);
}

static void reset_and_start(void)
{
    stop(VIRTIO_MMIO_STATUS);
    start_driver(2);
    model_signal(DONE);
}

static void replace_queue(void)
{
    stop(VIRTIO_MMIO_QUEUE_READY);
    set_up_queue(2);
    model_signal(DONE);
}

static void replace_queue_at_once(void)
{
    write_register(VIRTIO_MMIO_QUEUE_READY, 0);
    set_up_queue(2);
    model_signal(DONE);
}

static void reset_only(void)
{
    stop(VIRTIO_MMIO_STATUS);
    model_signal(DONE);
}

static void end_backend(uint32_t number)
{
    model_wait(DONE);
    follow();
    MODEL_CHECK(serves && check_setup() == number);
}

static void follow_start(void)
{
    follow();
    end_backend(1);
}

static void follow_impatient_driver(void)
{
    follow();
    end_backend(2);
}

static void follow_stop(void)
{
    follow();
    model_wait(RESET);
    follow();
    end_backend(2);
}

static void follow_reset(void)
{
    follow();
    model_wait(RESET);
    follow();
}

/* The hypervisor's part of a call, and of an acknowledgement (shared_device/locked.c). */
static void tell_driver(uint32_t before)
{
    if (before == 0 && registers.interrupt_status != 0) {
        model_signal(INTERRUPT);
    }
}

static void finish_two(void)
{
    for (uint32_t i = 1; i <= 2; i++) {
        model_store(&used_index, sizeof(used_index), i);
        model_lock(&lock);
        {
            uint32_t before = registers.interrupt_status;

            (void)shared_device_interrupt(&device, VIRTIO_MMIO_INTERRUPT_USED);
            tell_driver(before);
        }
        model_unlock(&lock);
    }
}

/* A driver that is never interrupted again is an error. */
static void collect_two(void)
{
    uint64_t seen = 0;

    while (seen != 2) {
        model_wait(INTERRUPT);
        model_lock(&lock);
        write_register(VIRTIO_MMIO_INTERRUPT_ACK, registers.interrupt_status);
        tell_driver(0);
        model_unlock(&lock);
        seen = model_load(&used_index, sizeof(used_index));
    }
}

static const struct order_program programs[] = {
    {{"start", prepare_new, {start_once, follow_start}}, EXECUTIONS_MAX},
    {{"reset", prepare_served, {reset_and_start, follow_stop}}, EXECUTIONS_MAX},
    {{"another queue", prepare_served, {replace_queue, follow_stop}}, EXECUTIONS_MAX},
    {{"a driver that does not wait",
      prepare_for_impatient_driver,
      {replace_queue_at_once, follow_impatient_driver}},
     EXECUTIONS_MAX},
    {{"reset without queues", prepare_without_queues, {reset_only, follow_reset}}, EXECUTIONS_MAX},
    {{"interrupts", prepare_served, {finish_two, collect_two}}, EXECUTIONS_MAX},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
