/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared device between its two partitions: accesses of the client's driver, calls of the
 * back-end, and the lives of both, in any order. The models of the driver and of the back-end
 * access memory that says who may use the rings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "gic/doorbell.h"
#include "gic/setup.h"
#include "hypercall/shared_device.h"
#include "shared_device/shared_device.h"
#include "shared_device/state.h"
#include <arch/device_access.h>
#include <arch/hypercalls.h>
#include <devices/virtio_mmio_registers.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT    1u
#define BACKEND   2u
#define STRANGER  0u
#define DEVICE    1u /* index in the description: the second of three */
#define REGISTERS UINT64_C(0xa000000)
#define INTERRUPT 56u
#define DOORBELL  58u
#define LINK_UP   1u

static struct description description;
static struct partition partitions[3];
static struct vcpu vcpus[3];
static uint8_t *memory; /* both pages of each device */
static unsigned rung, told;

static struct shared_device_page *page_of(uint32_t device)
{
    return (struct shared_device_page *)(uintptr_t)description.shared_devices[device].physical;
}

static struct shared_device_state *state_of(uint32_t device)
{
    return (struct shared_device_state *)((uintptr_t)page_of(device) + DESCRIPTION_PAGE_BYTES);
}

/* No lock is held while a device is told: the other side's monitor may enter at once. */
void doorbell_ring(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &description);
    assert_int_equal(interrupt, DOORBELL);
    rung++;
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &description);
    assert_int_equal(interrupt, INTERRUPT);
    told++;
}

void device_publish(void)
{
}

static int setup(void **state)
{
    const size_t bytes = (size_t)(3 * SHARED_DEVICE_BYTES);

    memory = aligned_alloc(DESCRIPTION_PAGE_BYTES, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    *state = memory;
    memset(&description, 0, sizeof(description));
    description.partition_count = 3;
    description.shared_device_count = 3;
    for (uint32_t i = 0; i < 3; i++) {
        description.shared_devices[i] = (struct description_shared_device){
            .physical = (uint64_t)(uintptr_t)memory + i * SHARED_DEVICE_BYTES,
            .registers = REGISTERS,
            .features = UINT64_C(1) << 32,
            .required = UINT64_C(1) << 32,
            .client = i == DEVICE ? CLIENT : STRANGER,
            .backend = i == DEVICE ? BACKEND : i, /* others: of STRANGER and of BACKEND */
            .interrupt = INTERRUPT,
            .doorbell = DOORBELL,
            .device_id = 1,
            .queue_count = 3,
            .queue_size_max = 256,
            .config_bytes = 12,
        };
        partitions[i] = (struct partition){.constant = {.system = &description, .index = i}};
        vcpus[i] = (struct vcpu){.partition = &partitions[i], .number = 0};
    }
    description.shared_devices[0].backend = CLIENT;
    rung = told = 0;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static enum access_result access_register(uint64_t offset, bool write, uint64_t *value)
{
    struct access access = {.value = *value, .bytes = 4, .write = write};
    enum access_result result = ACCESS_FORBIDDEN;

    assert_true(shared_device_trap(&partitions[CLIENT], REGISTERS + offset, &access, &result));
    assert_int_equal(state_of(DEVICE)->lock.next, state_of(DEVICE)->lock.turn);
    *value = access.value;
    return result;
}

static enum access_result write_register(uint64_t offset, uint64_t value)
{
    return access_register(offset, true, &value);
}

static uint64_t read_register(uint64_t offset)
{
    uint64_t value = UINT32_MAX;

    assert_int_equal(access_register(offset, false, &value), ACCESS_DONE);
    return value;
}

static int64_t call_of(uint32_t partition, uint32_t function, uint64_t device, uint64_t argument,
                       uint64_t value)
{
    const uint64_t registers[4] = {function, device, argument, value};
    int64_t result = shared_device_call(&vcpus[partition], registers);

    assert_int_equal(state_of(DEVICE)->lock.next, state_of(DEVICE)->lock.turn);
    return result;
}

static void call(uint32_t function, uint64_t argument)
{
    assert_int_equal(call_of(BACKEND, function, DEVICE, argument, 0), CALL_SUCCESS);
}

static void acknowledge(void)
{
    call(CALL_SHARED_DEVICE_ACKNOWLEDGE, page_of(DEVICE)->generation);
}

static int64_t configure(uint32_t offset, uint32_t count, uint64_t value)
{
    return call_of(BACKEND, CALL_SHARED_DEVICE_CONFIGURE, DEVICE, offset | count << 16, value);
}

static void set_up_queue(uint32_t number)
{
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_SELECT, number), ACCESS_DONE);
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_SIZE, 16), ACCESS_DONE);
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_READY, 1), ACCESS_DONE);
}

static void start_driver(void)
{
    assert_int_equal(write_register(VIRTIO_MMIO_ACCEPTED_SELECT, 1), ACCESS_DONE);
    assert_int_equal(write_register(VIRTIO_MMIO_ACCEPTED, 1), ACCESS_DONE);
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0xb), ACCESS_DONE);
    set_up_queue(0);
    set_up_queue(1);
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0xf), ACCESS_DONE);
    assert_int_equal(read_register(VIRTIO_MMIO_STATUS), 0xf);
}

/* Takes all steps of an end of the partition's life that don't wait. Returns true if it is over. */
static bool end_life(uint32_t partition, bool is_isolated, uint32_t *index)
{
    for (unsigned i = 0; i < 20; i++) {
        if (shared_device_end(&partitions[partition], is_isolated, index) == STEP_DONE) {
            return true;
        }
    }
    return false;
}

static bool ends(uint32_t partition)
{
    uint32_t index = 0;

    return end_life(partition, true, &index);
}

static void end_links(uint32_t partition)
{
    uint32_t index = 0;

    while (shared_device_end_link(&partitions[partition], &index) == STEP_PENDING) {
        assert_in_range(index, 1, 3);
    }
}

static void others_have_no_such_registers(void **state)
{
    struct access access = {.bytes = 4};
    enum access_result result;

    (void)state;
    assert_false(shared_device_trap(&partitions[BACKEND], REGISTERS, &access, &result));
    assert_false(shared_device_trap(&partitions[CLIENT], REGISTERS + 0x1000, &access, &result));
    assert_false(shared_device_trap(&partitions[CLIENT], REGISTERS - 4, &access, &result));
    assert_true(shared_device_trap(&partitions[CLIENT], REGISTERS, &access, &result));
    assert_int_equal(access.value, VIRTIO_MMIO_MAGIC_VALUE);
    access.bytes = 8;
    assert_true(shared_device_trap(&partitions[CLIENT], REGISTERS, &access, &result));
    assert_int_equal(result, ACCESS_REFUSED);
}

/* The calls are announced to the back-end, and only its own devices obey it. */
static void calls_are_the_back_ends(void **state)
{
    static const uint32_t functions[] = {CALL_SHARED_DEVICE_INTERRUPT,
                                         CALL_SHARED_DEVICE_ACKNOWLEDGE,
                                         CALL_SHARED_DEVICE_CONFIGURE, CALL_SHARED_DEVICE_FAIL};

    (void)state;
    start_driver();
    for (unsigned i = 0; i < 4; i++) {
        assert_true(shared_device_has_call(&vcpus[BACKEND], functions[i]));
        assert_true(shared_device_has_call(&vcpus[CLIENT], functions[i])); /* of device 0 */
        assert_false(shared_device_has_call(&vcpus[STRANGER], functions[i]));
        assert_int_equal(call_of(CLIENT, functions[i], DEVICE, 1, 1), CALL_NOT_SUPPORTED);
        assert_int_equal(call_of(STRANGER, functions[i], DEVICE, 1, 1), CALL_NOT_SUPPORTED);
        assert_int_equal(call_of(BACKEND, functions[i], 0, 1, 1), CALL_NOT_SUPPORTED);
        assert_int_equal(call_of(BACKEND, functions[i], 3, 1, 1), CALL_NOT_SUPPORTED);
        assert_int_equal(call_of(BACKEND, functions[i], UINT32_MAX, 1, 1), CALL_NOT_SUPPORTED);
    }
    assert_false(shared_device_has_call(&vcpus[BACKEND], CALL_SHARED_DEVICE_FAIL + 1));
    assert_false(shared_device_has_call(&vcpus[BACKEND], CALL_CHANNEL_NOTIFY));
    assert_int_equal(call_of(BACKEND, CALL_CHANNEL_NOTIFY, DEVICE, 1, 1), CALL_NOT_SUPPORTED);
    assert_int_equal(told, 0);
    assert_int_equal(state_of(DEVICE)->serves, 0);
    /* The upper half of an argument of 32 bits is ignored. */
    assert_int_equal(call_of(BACKEND, CALL_SHARED_DEVICE_INTERRUPT, UINT64_C(0x5500000000) | DEVICE,
                             UINT64_C(0x5500000001), 0),
                     CALL_SUCCESS);
    assert_int_equal(told, 1);
}

static void driver_rings(void **state)
{
    unsigned before;

    (void)state;
    start_driver();
    before = rung;
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_NOTIFY, 1), ACCESS_DONE);
    assert_int_equal(rung, before + 1);
    (void)read_register(VIRTIO_MMIO_INTERRUPT_STATUS);
    assert_int_equal(rung, before + 1);
}

/* The interrupt is an edge: for the first cause, and for causes that an acknowledgement leaves. */
static void driver_is_told(void **state)
{
    (void)state;
    call(CALL_SHARED_DEVICE_INTERRUPT, 1);
    assert_int_equal(told, 0); /* 3.1.2: not before DRIVER_OK */
    start_driver();
    call(CALL_SHARED_DEVICE_INTERRUPT, 0);
    call(CALL_SHARED_DEVICE_INTERRUPT, 4);
    assert_int_equal(told, 0);
    call(CALL_SHARED_DEVICE_INTERRUPT, 1);
    call(CALL_SHARED_DEVICE_INTERRUPT, 1);
    assert_int_equal(told, 1);
    assert_int_equal(configure(0, 8, UINT64_C(0x1122334455667788)), CALL_SUCCESS);
    assert_int_equal(told, 1);
    assert_int_equal(read_register(VIRTIO_MMIO_INTERRUPT_STATUS), 3);
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG), 0x55667788);
    write_register(VIRTIO_MMIO_INTERRUPT_ACK, 1);
    assert_int_equal(told, 2);
    write_register(VIRTIO_MMIO_INTERRUPT_ACK, 2);
    assert_int_equal(told, 2);
    call(CALL_SHARED_DEVICE_FAIL, 0);
    assert_int_equal(told, 3);
    assert_int_equal(read_register(VIRTIO_MMIO_STATUS), 0x4f);
    assert_int_equal(configure(0, 0, 0), CALL_SUCCESS);
    assert_int_equal(configure(5, 8, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(configure(0, 9, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(configure(0xffff, 8, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(configure(0xffff, 0xffff, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG), 0x55667788);
}

/* A reset before the back-end has said anything completes: it accesses nothing yet. */
static void reset_before_the_back_end(void **state)
{
    (void)state;
    start_driver();
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    start_driver();
    assert_true(ends(CLIENT));
}

static void reset_waits_for_the_back_end(void **state)
{
    uint32_t generation;

    (void)state;
    acknowledge();
    start_driver();
    generation = page_of(DEVICE)->generation;
    rung = 0;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    }
    assert_int_equal(page_of(DEVICE)->generation, generation + 1);
    assert_int_equal(rung, 1);
    /* Another VCPU of the client sees the reset, and may access any register meanwhile. */
    assert_int_equal(read_register(VIRTIO_MMIO_STATUS), 0);
    call(CALL_SHARED_DEVICE_ACKNOWLEDGE, generation); /* of before the reset */
    call(CALL_SHARED_DEVICE_ACKNOWLEDGE, generation + 2);
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    acknowledge();
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    /* An acknowledgement in advance has no effect. */
    start_driver();
    call(CALL_SHARED_DEVICE_ACKNOWLEDGE, page_of(DEVICE)->generation + 1);
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
}

static void queue_stop_waits_for_the_back_end(void **state)
{
    (void)state;
    acknowledge();
    start_driver();
    write_register(VIRTIO_MMIO_QUEUE_SELECT, 0);
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_READY, 0), ACCESS_AGAIN);
    assert_int_equal(page_of(DEVICE)->queues[1].ready, 1);
    /* An interrupt of the client, whose handler stops the other queue. */
    write_register(VIRTIO_MMIO_QUEUE_SELECT, 1);
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_READY, 0), ACCESS_AGAIN);
    call(CALL_SHARED_DEVICE_ACKNOWLEDGE, page_of(DEVICE)->generation - 1);
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_READY, 0), ACCESS_AGAIN);
    acknowledge();
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_READY, 0), ACCESS_DONE);
    write_register(VIRTIO_MMIO_QUEUE_SELECT, 0);
    assert_int_equal(write_register(VIRTIO_MMIO_QUEUE_READY, 0), ACCESS_DONE);
}

/* The back-end ends while the driver waits. A later life of it, which restarts twice, acknowledges
 * what it finds. */
static void back_end_dies_in_a_reset(void **state)
{
    uint32_t index = 0;

    (void)state;
    acknowledge();
    start_driver();
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    assert_true(end_life(BACKEND, false, &index)); /* its DMA is not blocked */
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    assert_true(ends(BACKEND));
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    start_driver();
    assert_true(ends(BACKEND)); /* it restarts before it has acknowledged anything */
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    start_driver();
    acknowledge();
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    acknowledge();
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
}

/* A back-end whose first acknowledgement in a life is late accesses rings of the present
 * generation only after another one. */
static void first_acknowledgement_is_late(void **state)
{
    uint32_t generation;

    (void)state;
    start_driver();
    generation = page_of(DEVICE)->generation;
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    call(CALL_SHARED_DEVICE_ACKNOWLEDGE, generation - 1);
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    acknowledge();
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
}

/* A restart of the back-end leaves the driver, its queues and the link as they are. */
static void back_end_restarts_behind_a_driver(void **state)
{
    struct shared_device_page before;

    (void)state;
    acknowledge();
    start_driver();
    assert_int_equal(configure(6, 1, LINK_UP), CALL_SUCCESS);
    before = *page_of(DEVICE);
    told = 0;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(ends(BACKEND));
        assert_memory_equal(page_of(DEVICE), &before, sizeof(before));
        acknowledge();
    }
    assert_int_equal(told, 0);
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG + 4) >> 16, LINK_UP);
}

static void link_goes_down_with_the_back_end(void **state)
{
    uint64_t generation;

    (void)state;
    acknowledge();
    start_driver();
    assert_int_equal(configure(6, 2, LINK_UP | 2), CALL_SUCCESS);
    write_register(VIRTIO_MMIO_INTERRUPT_ACK, 3);
    told = 0;
    generation = read_register(VIRTIO_MMIO_CONFIG_GENERATION);
    assert_true(ends(BACKEND));
    end_links(BACKEND);
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG + 4) >> 16, 2); /* other bits stay */
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG_GENERATION), generation + 1);
    assert_int_equal(read_register(VIRTIO_MMIO_INTERRUPT_STATUS), 2);
    assert_int_equal(told, 1);
    end_links(BACKEND); /* it stops once more */
    assert_int_equal(told, 1);
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG_GENERATION), generation + 1);
    end_links(CLIENT);
    end_links(STRANGER);
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG_GENERATION), generation + 1);
}

static void other_devices_have_no_link(void **state)
{
    (void)state;
    description.shared_devices[DEVICE].device_id = 2;
    assert_int_equal(configure(6, 1, LINK_UP), CALL_SUCCESS);
    end_links(BACKEND);
    assert_int_equal(read_register(VIRTIO_MMIO_CONFIG + 4) >> 16, LINK_UP);
    description.shared_devices[DEVICE].device_id = 1;
    description.shared_devices[DEVICE].config_bytes = 6; /* it has no such field */
    end_links(BACKEND);
    assert_int_equal(state_of(DEVICE)->registers.config[6], LINK_UP);
}

/* The client stops while the back-end serves it: alive, slow, or never answering. */
static void client_ends(void **state)
{
    uint32_t index = 0;

    (void)state;
    acknowledge();
    start_driver();
    call(CALL_SHARED_DEVICE_INTERRUPT, 1);
    rung = told = 0;
    assert_false(end_life(CLIENT, true, &index));
    assert_int_equal(rung, 1);
    assert_int_equal(page_of(DEVICE)->status, 0);
    assert_int_equal(page_of(DEVICE)->queues[0].ready | page_of(DEVICE)->queues[1].ready, 0);
    call(CALL_SHARED_DEVICE_INTERRUPT, 1); /* no interrupt reaches the client's next life */
    assert_int_equal(told, 0);
    assert_false(end_life(CLIENT, true, &index));
    acknowledge();
    assert_true(end_life(CLIENT, true, &index));
    assert_int_equal(rung, 1);
    start_driver();
    index = 0;
    assert_false(end_life(CLIENT, true, &index)); /* it never answers */
    index = 0;
    assert_false(end_life(CLIENT, true, &index)); /* nor at the next attempt */
    assert_true(ends(BACKEND));
    assert_true(end_life(CLIENT, true, &index));
}

/* A client that does not use its device, or has reset it, waits for nothing. */
static void idle_client_ends(void **state)
{
    (void)state;
    acknowledge();
    rung = 0;
    assert_true(ends(CLIENT));
    start_driver();
    assert_int_equal(write_register(VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    acknowledge();
    rung = 0;
    assert_true(ends(CLIENT));
    assert_int_equal(rung, 0);
}

/* Two partitions, each the client of the other, stop at the same time. */
static void both_end(void **state)
{
    uint32_t first = 0, second = 0;

    (void)state;
    description.shared_devices[2].client = BACKEND;
    description.shared_devices[2].backend = CLIENT;
    acknowledge();
    assert_int_equal(call_of(CLIENT, CALL_SHARED_DEVICE_ACKNOWLEDGE, 2, 0, 0), CALL_SUCCESS);
    start_driver();
    page_of(2)->status = 0xf;
    assert_false(end_life(CLIENT, true, &first));
    assert_true(end_life(BACKEND, true, &second));
    assert_true(end_life(CLIENT, true, &first));
}

/* ---- Any order. The model of the back-end: the generations that it serves, by queue. ---- */

struct backend {
    bool is_alive;
    bool serves[3]; /* it may access the rings of the queue */
    uint32_t generations[3];
};

static struct backend backend;

static uint32_t drawn(uint32_t limit)
{
    static uint64_t seed = 1;

    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % limit;
}

/* Acknowledges, and drops the queues that have stopped, or begins to serve those that are ready. */
static void backend_looks(void)
{
    const struct shared_device_page *page = page_of(DEVICE);

    for (unsigned i = 0; i < 3; i++) {
        backend.serves[i] =
            page->queues[i].ready != 0 &&
            (!backend.serves[i] || backend.generations[i] == page->queues[i].generation);
        backend.generations[i] = page->queues[i].generation;
    }
    acknowledge();
}

static void require_unserved(void)
{
    for (unsigned i = 0; i < 3; i++) {
        assert_false(backend.is_alive && backend.serves[i] &&
                     backend.generations[i] != page_of(DEVICE)->queues[i].generation);
    }
}

/* The driver resets, or stops a queue, and gives up after some attempts. Once the access is done,
 * the back-end serves nothing that was stopped. */
static void driver_stops(void)
{
    bool all = drawn(2) == 0;
    uint64_t offset = all ? VIRTIO_MMIO_STATUS : VIRTIO_MMIO_QUEUE_READY;

    (void)write_register(VIRTIO_MMIO_QUEUE_SELECT, drawn(4));
    for (unsigned i = 0; i < 4; i++) {
        if (write_register(offset, 0) == ACCESS_DONE) {
            /* Nothing waits behind a queue that does not exist. */
            if (all || state_of(DEVICE)->registers.queue_select < 3) {
                require_unserved();
            }
            return;
        }
        if (backend.is_alive && drawn(3) == 0) {
            backend_looks();
        }
    }
}

static void client_restarts(void)
{
    uint32_t index = 0;

    for (unsigned i = 0; i < 4; i++) {
        if (end_life(CLIENT, true, &index)) {
            require_unserved();
            return;
        }
        if (backend.is_alive && drawn(2) == 0) {
            backend_looks();
        }
    }
}

static void any_order(void **state)
{
    unsigned completed = 0;

    (void)state;
    backend = (struct backend){.is_alive = false};
    for (unsigned i = 0; i < 200000; i++) {
        switch (drawn(8)) {
        case 0:
            driver_stops();
            break;
        case 1:
            client_restarts();
            break;
        case 2:
            assert_true(ends(BACKEND));
            backend = (struct backend){.is_alive = false};
            if (drawn(2) == 0) {
                end_links(BACKEND);
            }
            break;
        case 3: /* a new life, which acknowledges first */
            if (!backend.is_alive) {
                backend.is_alive = true;
                backend_looks();
            }
            break;
        case 4:
        case 5:
            if (backend.is_alive) {
                backend_looks();
            }
            break;
        case 6:
            (void)write_register(VIRTIO_MMIO_ACCEPTED_SELECT, 1);
            (void)write_register(VIRTIO_MMIO_ACCEPTED, 1);
            (void)write_register(VIRTIO_MMIO_STATUS, 0xf);
            (void)write_register(VIRTIO_MMIO_QUEUE_SELECT, drawn(3));
            (void)write_register(VIRTIO_MMIO_QUEUE_SIZE, 16);
            (void)write_register(VIRTIO_MMIO_QUEUE_READY, 1);
            break;
        default:
            (void)write_register(drawn(64) * 4, drawn(4) == 0 ? drawn(UINT32_MAX) : drawn(32));
            break;
        }
        completed += page_of(DEVICE)->status != 0;
    }
    assert_true(completed > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(others_have_no_such_registers, setup, tear_down),
        cmocka_unit_test_setup_teardown(calls_are_the_back_ends, setup, tear_down),
        cmocka_unit_test_setup_teardown(driver_rings, setup, tear_down),
        cmocka_unit_test_setup_teardown(driver_is_told, setup, tear_down),
        cmocka_unit_test_setup_teardown(reset_before_the_back_end, setup, tear_down),
        cmocka_unit_test_setup_teardown(reset_waits_for_the_back_end, setup, tear_down),
        cmocka_unit_test_setup_teardown(queue_stop_waits_for_the_back_end, setup, tear_down),
        cmocka_unit_test_setup_teardown(back_end_dies_in_a_reset, setup, tear_down),
        cmocka_unit_test_setup_teardown(first_acknowledgement_is_late, setup, tear_down),
        cmocka_unit_test_setup_teardown(back_end_restarts_behind_a_driver, setup, tear_down),
        cmocka_unit_test_setup_teardown(link_goes_down_with_the_back_end, setup, tear_down),
        cmocka_unit_test_setup_teardown(other_devices_have_no_link, setup, tear_down),
        cmocka_unit_test_setup_teardown(client_ends, setup, tear_down),
        cmocka_unit_test_setup_teardown(idle_client_ends, setup, tear_down),
        cmocka_unit_test_setup_teardown(both_end, setup, tear_down),
        cmocka_unit_test_setup_teardown(any_order, setup, tear_down),
    };

    return cmocka_run_group_tests_name("shared_device", tests, NULL, NULL);
}
